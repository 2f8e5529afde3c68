import type { SetSecret } from '@ghost/operations';
import type { Settings } from '@ghost/settings';
import { Body, Controller, Inject, Param, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import * as z from 'zod';

import { type Account, CurrentAccount } from '../accounts/current-account.js';
import { SETTINGS } from '../database/tokens.js';
import { entityTag, IfMatch, type Precondition } from '../http/entity-tag.js';
import { Listed } from '../http/listed.js';
import type { Page } from '../http/page.js';
import { Route } from '../http/route.js';
import { type RepositoryPath, repositoryPath } from '../repositories/repository-path.js';
import {
  type HookConfigEdit,
  type HookEdit,
  type HookPath,
  type HookResumption,
  hookConfigEdit,
  hookEdit,
  hookPage,
  hookPath,
  hookResumption,
  type NewHook,
  newHook,
  type SecretRotation,
  secretRotation,
} from './hook-schemas.js';
import { hookConfigState, hookSettings, hookTag, settingsPart } from './hook-tag.js';
import {
  type FoundHook,
  type HookAnswer,
  type HookConfigAnswer,
  hookAnswer,
  hookConfigAnswer,
  hookConfigView,
  hookView,
} from './hook-view.js';
import { type HookCheck, HooksService } from './hooks.service.js';

@Controller('repos/:owner/:repo/hooks')
export class HooksController {
  constructor(
    @Inject(HooksService) private readonly hooks: HooksService,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  @Route({
    method: 'POST',
    access: { for: 'account', scope: 'hooks' },
    id: 'create-hook',
    summary: 'Make a hook, and ping it. A secret that Ghost makes is shown in this answer alone.',
    status: 201,
    answer: hookAnswer,
    errors: [404, 422],
  })
  async create(
    @CurrentAccount() account: Account,
    @Param({ schema: repositoryPath }) path: RepositoryPath,
    @Body({ schema: newHook }) wanted: NewHook,
  ): Promise<HookAnswer> {
    const made = await this.hooks.create(account, path, wanted);
    return hookView(this.settings, made, made.secret);
  }

  @Route({
    method: 'GET',
    access: { for: 'account', scope: 'hooks' },
    id: 'list-hooks',
    summary: 'The hooks of a repository, the oldest first.',
    status: 200,
    answer: z.array(hookAnswer),
    paged: true,
    errors: [404, 422],
  })
  async list(
    @CurrentAccount() account: Account,
    @Param({ schema: repositoryPath }) path: RepositoryPath,
    @Query({ schema: hookPage }) page: Page,
  ): Promise<Listed<HookAnswer>> {
    const found = await this.hooks.list(account, path, page);
    return Listed.from(
      found,
      page.per_page,
      'hooks',
      ({ hook }) => hook.id,
      (each) => hookView(this.settings, each),
    );
  }

  @Route({
    method: 'GET',
    path: ':id',
    access: { for: 'account', scope: 'hooks' },
    id: 'get-hook',
    summary: 'A hook.',
    status: 200,
    answer: hookAnswer,
    errors: [404],
  })
  async show(
    @CurrentAccount() account: Account,
    @Param({ schema: hookPath }) path: HookPath,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<HookAnswer> {
    return this.tagged(reply, await this.hooks.find(account, path));
  }

  @Route({
    method: 'PATCH',
    path: ':id',
    access: { for: 'account', scope: 'hooks' },
    id: 'edit-hook',
    summary:
      'Edit a hook. A config that is given replaces all of it but secret and headers, which stay unless they are named.',
    status: 200,
    answer: hookAnswer,
    errors: [404, 412, 422],
  })
  async edit(
    @CurrentAccount() account: Account,
    @Param({ schema: hookPath }) path: HookPath,
    @Body({ schema: hookEdit }) edit: HookEdit,
    @IfMatch(settingsPart) precondition: Precondition,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<HookAnswer> {
    const edited = await this.hooks.edit(account, path, edit, (found) =>
      precondition(hookSettings(this.settings, found)),
    );
    return this.tagged(reply, edited, edited.secret);
  }

  @Route({
    method: 'DELETE',
    path: ':id',
    access: { for: 'account', scope: 'hooks' },
    id: 'delete-hook',
    summary: 'Delete a hook, and cancel what waits for it.',
    status: 204,
    answer: null,
    errors: [404, 412],
  })
  async remove(
    @CurrentAccount() account: Account,
    @Param({ schema: hookPath }) path: HookPath,
    @IfMatch(settingsPart) precondition: Precondition,
  ): Promise<void> {
    await this.hooks.remove(account, path, (found) =>
      precondition(hookSettings(this.settings, found)),
    );
  }

  @Route({
    method: 'GET',
    path: ':id/config',
    access: { for: 'account', scope: 'hooks' },
    id: 'get-hook-config',
    summary: 'The config of a hook.',
    status: 200,
    answer: hookConfigAnswer,
    errors: [404],
  })
  async showConfig(
    @CurrentAccount() account: Account,
    @Param({ schema: hookPath }) path: HookPath,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<HookConfigAnswer> {
    return this.taggedConfig(reply, await this.hooks.find(account, path));
  }

  @Route({
    method: 'PATCH',
    path: ':id/config',
    access: { for: 'account', scope: 'hooks' },
    id: 'edit-hook-config',
    summary: 'Edit the config of a hook; what is left out stays.',
    status: 200,
    answer: hookConfigAnswer,
    errors: [404, 412, 422],
  })
  async editConfig(
    @CurrentAccount() account: Account,
    @Param({ schema: hookPath }) path: HookPath,
    @Body({ schema: hookConfigEdit }) config: HookConfigEdit,
    @IfMatch() precondition: Precondition,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<HookConfigAnswer> {
    const check: HookCheck = (found) => precondition(hookConfigState(found));
    // The fields are the whole body here, so that faults name them as they were sent.
    const edited = await this.hooks.edit(account, path, { config }, check, '');
    return this.taggedConfig(reply, edited, edited.secret);
  }

  @Route({
    method: 'POST',
    path: ':id/secret-rotations',
    access: { for: 'account', scope: 'hooks' },
    id: 'rotate-hook-secret',
    summary:
      'Give a hook a new secret. The one before signs too for 24 hours, or as long as is asked; a secret that Ghost makes is shown in this answer alone.',
    status: 200,
    answer: hookAnswer,
    errors: [404, 412, 422],
  })
  async rotateSecret(
    @CurrentAccount() account: Account,
    @Param({ schema: hookPath }) path: HookPath,
    @Body({ schema: secretRotation }) rotation: SecretRotation,
    @IfMatch(settingsPart) precondition: Precondition,
  ): Promise<HookAnswer> {
    const rotated = await this.hooks.rotateSecret(account, path, rotation, (found) =>
      precondition(hookSettings(this.settings, found)),
    );
    return hookView(this.settings, rotated, rotated.secret);
  }

  @Route({
    method: 'PUT',
    path: ':id/pause',
    access: { for: 'account', scope: 'hooks' },
    id: 'pause-hook',
    summary: 'Pause a hook: what is sent to it is kept, for 7 days at most.',
    status: 200,
    answer: hookAnswer,
    errors: [404],
  })
  async pause(
    @CurrentAccount() account: Account,
    @Param({ schema: hookPath }) path: HookPath,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<HookAnswer> {
    return this.tagged(reply, await this.hooks.pause(account, path));
  }

  @Route({
    method: 'DELETE',
    path: ':id/pause',
    access: { for: 'account', scope: 'hooks' },
    id: 'resume-hook',
    summary:
      'Resume a hook, whatever held it: what was kept is sent, or with held=discard cancelled (it can be sent again one by one).',
    status: 200,
    answer: hookAnswer,
    errors: [404, 409, 422],
  })
  async resume(
    @CurrentAccount() account: Account,
    @Param({ schema: hookPath }) path: HookPath,
    @Query({ schema: hookResumption }) { held }: HookResumption,
  ): Promise<HookAnswer> {
    return hookView(this.settings, await this.hooks.resume(account, path, held));
  }

  @Route({
    method: 'POST',
    path: ':id/pings',
    access: { for: 'account', scope: 'hooks' },
    id: 'ping-hook',
    summary: 'Send a ping to this hook alone.',
    status: 204,
    answer: null,
    errors: [404],
  })
  async ping(
    @CurrentAccount() account: Account,
    @Param({ schema: hookPath }) path: HookPath,
  ): Promise<void> {
    await this.hooks.ping(account, path);
  }

  @Route({
    method: 'POST',
    path: ':id/tests',
    access: { for: 'account', scope: 'hooks' },
    id: 'test-hook',
    summary: 'Try a hook. GitHub sends its last push; there are none here, so it is a ping.',
    status: 204,
    answer: null,
    errors: [404],
  })
  async test(
    @CurrentAccount() account: Account,
    @Param({ schema: hookPath }) path: HookPath,
  ): Promise<void> {
    await this.hooks.ping(account, path);
  }

  private tagged(reply: FastifyReply, found: FoundHook, set: SetSecret | null = null): HookAnswer {
    reply.header('etag', hookTag(this.settings, found));
    return hookView(this.settings, found, set);
  }

  private taggedConfig(
    reply: FastifyReply,
    found: FoundHook,
    set: SetSecret | null = null,
  ): HookConfigAnswer {
    reply.header('etag', entityTag(JSON.stringify(hookConfigState(found))));
    return hookConfigView(found.hook, set);
  }
}
