import type { Settings } from '@ghost/settings';
import { Body, Controller, Get, HttpCode, Inject, Param, Post, UseGuards } from '@nestjs/common';

import { type Account, CurrentAccount } from '../accounts/current-account.js';
import { TokenGuard } from '../accounts/token-guard.js';
import { SETTINGS } from '../database/tokens.js';
import { RepositoriesService } from './repositories.service.js';
import { type RepositoryPath, repositoryPath } from './repository-path.js';
import { type NewRepository, newRepository } from './repository-schemas.js';
import { repositoryView } from './repository-view.js';

@Controller()
@UseGuards(TokenGuard)
export class RepositoriesController {
  constructor(
    @Inject(RepositoriesService) private readonly repositories: RepositoriesService,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  @Post('user/repos')
  @HttpCode(201)
  async create(
    @CurrentAccount() account: Account,
    @Body({ schema: newRepository }) wanted: NewRepository,
  ) {
    const made = await this.repositories.create(account, wanted);
    return repositoryView(this.settings.publicUrl, made);
  }

  @Get('repos/:owner/:repo')
  async show(
    @CurrentAccount() account: Account,
    @Param({ schema: repositoryPath }) path: RepositoryPath,
  ) {
    const found = await this.repositories.find(account, path);
    return repositoryView(this.settings.publicUrl, found);
  }
}
