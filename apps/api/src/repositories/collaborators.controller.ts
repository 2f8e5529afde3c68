import { Body, Controller, Delete, HttpCode, Inject, Param, Put, UseGuards } from '@nestjs/common';
import type * as z from 'zod';

import { type Account, CurrentAccount } from '../accounts/current-account.js';
import { TokenGuard } from '../accounts/token-guard.js';
import { MembersService } from './members.service.js';
import { repositoryPath, username } from './repository-path.js';
import { type NewCollaborator, newCollaborator } from './repository-schemas.js';

const memberPath = repositoryPath.extend({ username });
type MemberPath = z.infer<typeof memberPath>;

/** There are no invitations: a collaborator is one at once, which GitHub answers with 204. */
@Controller('repos/:owner/:repo/collaborators/:username')
@UseGuards(TokenGuard)
export class CollaboratorsController {
  constructor(@Inject(MembersService) private readonly members: MembersService) {}

  @Put()
  @HttpCode(204)
  async add(
    @CurrentAccount() account: Account,
    @Param({ schema: memberPath }) path: MemberPath,
    @Body({ schema: newCollaborator }) wanted: NewCollaborator,
  ): Promise<void> {
    await this.members.add(account, path, path.username, wanted);
  }

  @Delete()
  @HttpCode(204)
  async remove(
    @CurrentAccount() account: Account,
    @Param({ schema: memberPath }) path: MemberPath,
  ): Promise<void> {
    await this.members.remove(account, path, path.username);
  }
}
