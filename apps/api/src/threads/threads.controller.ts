import { Body, Controller, Get, HttpCode, Inject, Param, Post, UseGuards } from '@nestjs/common';

import { type Account, CurrentAccount } from '../accounts/current-account.js';
import { TokenGuard } from '../accounts/token-guard.js';
import { type RepositoryPath, repositoryPath } from '../repositories/repository-path.js';
import { type NewThread, newThread, type ThreadPath, threadPath } from './thread-schemas.js';
import { threadView } from './thread-view.js';
import { ThreadsService } from './threads.service.js';

@Controller('repos/:owner/:repo/threads')
@UseGuards(TokenGuard)
export class ThreadsController {
  constructor(@Inject(ThreadsService) private readonly threads: ThreadsService) {}

  @Post()
  @HttpCode(201)
  async open(
    @CurrentAccount() account: Account,
    @Param({ schema: repositoryPath }) path: RepositoryPath,
    @Body({ schema: newThread }) wanted: NewThread,
  ) {
    return threadView(await this.threads.open(account, path, wanted));
  }

  @Get(':number')
  async show(@CurrentAccount() account: Account, @Param({ schema: threadPath }) path: ThreadPath) {
    return threadView(await this.threads.find(account, path));
  }
}
