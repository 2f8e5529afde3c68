import type { Settings } from '@ghost/settings';
import { Body, Controller, Inject, Param } from '@nestjs/common';

import { type Account, CurrentAccount, MaybeAccount } from '../accounts/current-account.js';
import { SETTINGS } from '../database/tokens.js';
import { IfMatch, type Precondition } from '../http/entity-tag.js';
import { Route } from '../http/route.js';
import { RepositoriesService } from './repositories.service.js';
import type { RepositoryAccess } from './repository-access.js';
import { type RepositoryPath, repositoryPath } from './repository-path.js';
import {
  type NewRepository,
  newRepository,
  type RepositoryEdit,
  repositoryEdit,
} from './repository-schemas.js';
import { type RepositoryAnswer, repositoryAnswer, repositoryView } from './repository-view.js';

@Controller()
export class RepositoriesController {
  constructor(
    @Inject(RepositoriesService) private readonly repositories: RepositoriesService,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  @Route({
    method: 'POST',
    path: 'user/repos',
    access: { for: 'account', scope: 'repo' },
    id: 'create-repository',
    summary: 'Make a repository of your own; private unless you say otherwise.',
    status: 201,
    answer: repositoryAnswer,
    errors: [422],
  })
  async create(
    @CurrentAccount() account: Account,
    @Body({ schema: newRepository }) wanted: NewRepository,
  ): Promise<RepositoryAnswer> {
    return this.view(await this.repositories.create(account, wanted));
  }

  @Route({
    method: 'GET',
    path: 'repos/:owner/:repo',
    access: { for: 'anyone', scope: 'repo' },
    id: 'get-repository',
    summary: 'A repository.',
    status: 200,
    answer: repositoryAnswer,
    errors: [404],
  })
  async show(
    @MaybeAccount() account: Account | null,
    @Param({ schema: repositoryPath }) path: RepositoryPath,
  ): Promise<RepositoryAnswer> {
    return this.view(await this.repositories.find(account, path));
  }

  @Route({
    method: 'PATCH',
    path: 'repos/:owner/:repo',
    access: { for: 'account', scope: 'repo' },
    id: 'edit-repository',
    summary: 'Change its description, or who may read it (which needs the scope "admin" too).',
    status: 200,
    answer: repositoryAnswer,
    errors: [404, 412, 422],
  })
  async edit(
    @CurrentAccount() account: Account,
    @Param({ schema: repositoryPath }) path: RepositoryPath,
    @Body({ schema: repositoryEdit }) wanted: RepositoryEdit,
    @IfMatch() precondition: Precondition,
  ): Promise<RepositoryAnswer> {
    const edited = await this.repositories.edit(account, path, wanted, (current) =>
      precondition(this.view(current)),
    );
    return this.view(edited);
  }

  @Route({
    method: 'DELETE',
    path: 'repos/:owner/:repo',
    access: { for: 'account', scope: 'admin' },
    id: 'delete-repository',
    summary: 'Delete a repository, its threads and its hooks; nothing that waits for it is sent.',
    status: 204,
    answer: null,
    errors: [404, 412],
  })
  async remove(
    @CurrentAccount() account: Account,
    @Param({ schema: repositoryPath }) path: RepositoryPath,
    @IfMatch() precondition: Precondition,
  ): Promise<void> {
    await this.repositories.remove(account, path, (current) => precondition(this.view(current)));
  }

  private view(access: RepositoryAccess): RepositoryAnswer {
    return repositoryView(this.settings.publicUrl, access);
  }
}
