import type { Settings } from '@ghost/settings';
import { Controller, Inject, Param, Query } from '@nestjs/common';
import * as z from 'zod';

import { type Account, CurrentAccount, MaybeAccount } from '../accounts/current-account.js';
import { SETTINGS } from '../database/tokens.js';
import { Listed } from '../http/listed.js';
import { Route } from '../http/route.js';
import type { RepositoryAccess } from './repository-access.js';
import { RepositoryListsService } from './repository-lists.service.js';
import { username } from './repository-path.js';
import {
  type OwnRepositoriesQuery,
  ownRepositoriesQuery,
  type RepositoriesOfQuery,
  repositoriesOfQuery,
  type WatchedQuery,
  watchedQuery,
} from './repository-queries.js';
import { type RepositoryAnswer, repositoryAnswer, repositoryView } from './repository-view.js';

const userPath = z.object({ username });
type UserPath = z.infer<typeof userPath>;
const listAnswer = z.array(repositoryAnswer);

@Controller()
export class RepositoryListsController {
  constructor(
    @Inject(RepositoryListsService) private readonly lists: RepositoryListsService,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  @Route({
    method: 'GET',
    path: 'user/repos',
    access: { for: 'account', scope: 'repo' },
    id: 'list-own-repositories',
    summary: 'The repositories that you own or are a member of.',
    status: 200,
    answer: listAnswer,
    paged: true,
    errors: [422],
  })
  async own(
    @CurrentAccount() account: Account,
    @Query({ schema: ownRepositoriesQuery }) query: OwnRepositoriesQuery,
  ): Promise<Listed<RepositoryAnswer>> {
    return this.page(await this.lists.own(account, query), query);
  }

  @Route({
    method: 'GET',
    path: 'user/subscriptions',
    access: { for: 'account', scope: 'repo' },
    id: 'list-watched-repositories',
    summary: 'The repositories that you watch.',
    status: 200,
    answer: listAnswer,
    paged: true,
    errors: [422],
  })
  async watched(
    @CurrentAccount() account: Account,
    @Query({ schema: watchedQuery }) query: WatchedQuery,
  ): Promise<Listed<RepositoryAnswer>> {
    return this.page(await this.lists.watched(account, query), query);
  }

  @Route({
    method: 'GET',
    path: 'users/:username/repos',
    access: { for: 'anyone', scope: 'repo' },
    id: 'list-repositories-of-user',
    summary: 'The repositories of somebody that you may read.',
    status: 200,
    answer: listAnswer,
    paged: true,
    errors: [404, 422],
  })
  async of(
    @MaybeAccount() account: Account | null,
    @Param({ schema: userPath }) path: UserPath,
    @Query({ schema: repositoriesOfQuery }) query: RepositoriesOfQuery,
  ): Promise<Listed<RepositoryAnswer>> {
    return this.page(await this.lists.of(account, path.username, query), query);
  }

  private page(
    rows: readonly RepositoryAccess[],
    { per_page: perPage }: { per_page: number },
  ): Listed<RepositoryAnswer> {
    const view = (row: RepositoryAccess) => repositoryView(this.settings.publicUrl, row);
    return Listed.from(rows, perPage, 'repositories', ({ repository }) => repository.id, view);
  }
}
