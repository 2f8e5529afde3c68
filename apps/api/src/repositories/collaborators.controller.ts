import type { Settings } from '@ghost/settings';
import { Body, Controller, Inject, Param, Query } from '@nestjs/common';
import * as z from 'zod';

import { type Account, CurrentAccount } from '../accounts/current-account.js';
import { SETTINGS } from '../database/tokens.js';
import { Listed } from '../http/listed.js';
import { Route } from '../http/route.js';
import { type NewCollaborator, newCollaborator } from './collaborator-schemas.js';
import {
  type CollaboratorAnswer,
  collaboratorAnswer,
  type CollaboratorPermissionAnswer,
  collaboratorPermissionAnswer,
  collaboratorPermissionView,
  collaboratorView,
} from './collaborator-view.js';
import { MembersService } from './members.service.js';
import { type RepositoryPath, repositoryPath, username } from './repository-path.js';
import { type CollaboratorsQuery, collaboratorsQuery } from './repository-queries.js';

const memberPath = repositoryPath.extend({ username });
type MemberPath = z.infer<typeof memberPath>;

/** There are no invitations: a collaborator is one at once, which GitHub answers with 204. */
@Controller('repos/:owner/:repo/collaborators')
export class CollaboratorsController {
  constructor(
    @Inject(MembersService) private readonly members: MembersService,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  @Route({
    method: 'GET',
    access: { for: 'account', scope: 'repo' },
    id: 'list-collaborators',
    summary: 'Who may use a repository, its owner included; for those who may write.',
    status: 200,
    answer: z.array(collaboratorAnswer),
    paged: true,
    errors: [404, 422],
  })
  async list(
    @CurrentAccount() account: Account,
    @Param({ schema: repositoryPath }) path: RepositoryPath,
    @Query({ schema: collaboratorsQuery }) query: CollaboratorsQuery,
  ): Promise<Listed<CollaboratorAnswer>> {
    const people = await this.members.list(account, path, query);
    return Listed.from(
      people,
      query.per_page,
      'accounts',
      ({ id }) => id,
      (person) => collaboratorView(this.settings.publicUrl, person),
    );
  }

  @Route({
    method: 'GET',
    path: ':username',
    access: { for: 'account', scope: 'repo' },
    id: 'check-collaborator',
    summary: 'Whether somebody is a collaborator: 204, or 404.',
    status: 204,
    answer: null,
    errors: [404],
  })
  async check(
    @CurrentAccount() account: Account,
    @Param({ schema: memberPath }) path: MemberPath,
  ): Promise<void> {
    await this.members.requireCollaborator(account, path, path.username);
  }

  @Route({
    method: 'GET',
    path: ':username/permission',
    access: { for: 'account', scope: 'repo' },
    id: 'get-collaborator-permission',
    summary: 'What somebody may do in a repository; for those who may write.',
    status: 200,
    answer: collaboratorPermissionAnswer,
    errors: [404],
  })
  async permission(
    @CurrentAccount() account: Account,
    @Param({ schema: memberPath }) path: MemberPath,
  ): Promise<CollaboratorPermissionAnswer> {
    const person = await this.members.permissionOf(account, path, path.username);
    return collaboratorPermissionView(this.settings.publicUrl, person);
  }

  @Route({
    method: 'PUT',
    path: ':username',
    access: { for: 'account', scope: 'admin' },
    id: 'add-collaborator',
    summary: 'Add a collaborator, or change what one may do.',
    status: 204,
    answer: null,
    errors: [404, 422],
  })
  async add(
    @CurrentAccount() account: Account,
    @Param({ schema: memberPath }) path: MemberPath,
    @Body({ schema: newCollaborator }) wanted: NewCollaborator,
  ): Promise<void> {
    await this.members.add(account, path, path.username, wanted);
  }

  @Route({
    method: 'DELETE',
    path: ':username',
    access: { for: 'account', scope: 'admin' },
    id: 'remove-collaborator',
    summary: 'Remove a collaborator, or leave.',
    status: 204,
    answer: null,
    errors: [404, 422],
  })
  async remove(
    @CurrentAccount() account: Account,
    @Param({ schema: memberPath }) path: MemberPath,
  ): Promise<void> {
    await this.members.remove(account, path, path.username);
  }
}
