import { Body, Controller, Inject, Param, Query } from '@nestjs/common';
import * as z from 'zod';

import { type Account, CurrentAccount, MaybeAccount } from '../accounts/current-account.js';
import { IfMatch, type Precondition } from '../http/entity-tag.js';
import { Route } from '../http/route.js';
import { type RepositoryPath, repositoryPath } from '../repositories/repository-path.js';
import {
  type NewThread,
  newThread,
  type ThreadChanges,
  threadChanges,
  type ThreadPath,
  threadPath,
  type ThreadsPage,
  threadsPage,
} from './thread-schemas.js';
import { threadAnswer } from './thread-view.js';
import { ThreadsService } from './threads.service.js';

@Controller('repos/:owner/:repo/threads')
export class ThreadsController {
  constructor(@Inject(ThreadsService) private readonly threads: ThreadsService) {}

  @Route({
    method: 'GET',
    access: { for: 'anyone', scope: 'repo' },
    id: 'list-threads',
    summary: 'The threads of a repository, the newest first.',
    status: 200,
    answer: z.array(threadAnswer),
    paged: true,
    errors: [404, 422],
  })
  list(
    @MaybeAccount() account: Account | null,
    @Param({ schema: repositoryPath }) path: RepositoryPath,
    @Query({ schema: threadsPage }) page: ThreadsPage,
  ) {
    return this.threads.list(account, path, page);
  }

  @Route({
    method: 'POST',
    access: { for: 'account', scope: 'repo' },
    id: 'open-thread',
    summary: 'Open a thread.',
    status: 201,
    answer: threadAnswer,
    errors: [404, 422],
  })
  open(
    @CurrentAccount() account: Account,
    @Param({ schema: repositoryPath }) path: RepositoryPath,
    @Body({ schema: newThread }) wanted: NewThread,
  ) {
    return this.threads.open(account, path, wanted);
  }

  @Route({
    method: 'GET',
    path: ':number',
    access: { for: 'anyone', scope: 'repo' },
    id: 'get-thread',
    summary: 'A thread.',
    status: 200,
    answer: threadAnswer,
    errors: [404],
  })
  show(@MaybeAccount() account: Account | null, @Param({ schema: threadPath }) path: ThreadPath) {
    return this.threads.find(account, path);
  }

  @Route({
    method: 'PATCH',
    path: ':number',
    access: { for: 'account', scope: 'repo' },
    id: 'edit-thread',
    summary: 'Edit, close or reopen a thread.',
    status: 200,
    answer: threadAnswer,
    errors: [404, 412, 422],
  })
  edit(
    @CurrentAccount() account: Account,
    @Param({ schema: threadPath }) path: ThreadPath,
    @Body({ schema: threadChanges }) wanted: ThreadChanges,
    @IfMatch() precondition: Precondition,
  ) {
    return this.threads.edit(account, path, wanted, precondition);
  }
}
