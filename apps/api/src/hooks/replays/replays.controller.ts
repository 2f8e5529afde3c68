import { Body, Controller, Inject, Param, Query } from '@nestjs/common';
import * as z from 'zod';

import { type Account, CurrentAccount } from '../../accounts/current-account.js';
import { Listed } from '../../http/listed.js';
import type { Page } from '../../http/page.js';
import { Route } from '../../http/route.js';
import { type HookPath, hookPath } from '../hook-schemas.js';
import {
  type AskedReplay,
  type NewReplay,
  newReplay,
  type ReplayPath,
  replayPage,
  replayPath,
  replayWish,
} from './replay-schemas.js';
import {
  type ReplayAnswer,
  type ReplayPreviewAnswer,
  replayAnswer,
  replayPreviewAnswer,
  replayPreviewView,
  replayView,
} from './replay-view.js';
import { ReplaysService } from './replays.service.js';

/** Ended deliveries of one hook that are sent again, all that fit: GitHub has nothing like it. */
@Controller('repos/:owner/:repo/hooks/:id/replays')
export class ReplaysController {
  constructor(@Inject(ReplaysService) private readonly replays: ReplaysService) {}

  @Route({
    method: 'GET',
    path: 'preview',
    access: { for: 'account', scope: 'hooks' },
    id: 'preview-hook-replay',
    summary: 'How many deliveries a replay would send again; nothing is sent.',
    status: 200,
    answer: replayPreviewAnswer,
    errors: [404, 422],
  })
  async preview(
    @CurrentAccount() account: Account,
    @Param({ schema: hookPath }) path: HookPath,
    @Query({ schema: replayWish }) wish: AskedReplay,
  ): Promise<ReplayPreviewAnswer> {
    return replayPreviewView(await this.replays.preview(account, path, wish));
  }

  @Route({
    method: 'POST',
    access: { for: 'account', scope: 'hooks' },
    id: 'start-hook-replay',
    summary:
      'Send ended deliveries of a hook again, all that fit: the same ids and bytes, as many at a time as the hook takes.',
    status: 202,
    answer: replayAnswer,
    errors: [404, 409, 422],
  })
  async start(
    @CurrentAccount() account: Account,
    @Param({ schema: hookPath }) path: HookPath,
    @Body({ schema: newReplay }) wanted: NewReplay,
  ): Promise<ReplayAnswer> {
    return replayView(await this.replays.start(account, path, wanted));
  }

  @Route({
    method: 'GET',
    access: { for: 'account', scope: 'hooks' },
    id: 'list-hook-replays',
    summary: 'The replays of a hook, the newest first.',
    status: 200,
    answer: z.array(replayAnswer),
    paged: true,
    errors: [404, 422],
  })
  async list(
    @CurrentAccount() account: Account,
    @Param({ schema: hookPath }) path: HookPath,
    @Query({ schema: replayPage }) page: Page,
  ): Promise<Listed<ReplayAnswer>> {
    const found = await this.replays.list(account, path, page);
    return Listed.from(found, page.per_page, 'replays', ({ id }) => id, replayView);
  }

  @Route({
    method: 'GET',
    path: ':replay_id',
    access: { for: 'account', scope: 'hooks' },
    id: 'get-hook-replay',
    summary: 'A replay and its progress.',
    status: 200,
    answer: replayAnswer,
    errors: [404],
  })
  async show(
    @CurrentAccount() account: Account,
    @Param({ schema: replayPath }) path: ReplayPath,
  ): Promise<ReplayAnswer> {
    return replayView(await this.replays.find(account, path));
  }

  @Route({
    method: 'DELETE',
    path: ':replay_id',
    access: { for: 'account', scope: 'hooks' },
    id: 'cancel-hook-replay',
    summary:
      'Cancel a replay: nothing more of it is made pending; what is pending already is sent.',
    status: 200,
    answer: replayAnswer,
    errors: [404, 409],
  })
  async cancel(
    @CurrentAccount() account: Account,
    @Param({ schema: replayPath }) path: ReplayPath,
  ): Promise<ReplayAnswer> {
    return replayView(await this.replays.cancel(account, path));
  }
}
