import type { Settings } from '@ghost/settings';
import {
  Body,
  Controller,
  Delete,
  Get,
  HttpCode,
  Inject,
  Param,
  Put,
  UseGuards,
} from '@nestjs/common';

import { type Account, CurrentAccount } from '../accounts/current-account.js';
import { TokenGuard } from '../accounts/token-guard.js';
import { SETTINGS } from '../database/tokens.js';
import { type RepositoryPath, repositoryPath } from './repository-path.js';
import { type NewSubscription, newSubscription } from './repository-schemas.js';
import { repositoryView } from './repository-view.js';
import { type Subscription, SubscriptionsService } from './subscriptions.service.js';

/** Whether the asker watches a repository. */
@Controller('repos/:owner/:repo/subscription')
@UseGuards(TokenGuard)
export class SubscriptionsController {
  constructor(
    @Inject(SubscriptionsService) private readonly subscriptions: SubscriptionsService,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  @Get()
  async show(
    @CurrentAccount() account: Account,
    @Param({ schema: repositoryPath }) path: RepositoryPath,
  ) {
    return this.view(await this.subscriptions.find(account, path));
  }

  @Put()
  async set(
    @CurrentAccount() account: Account,
    @Param({ schema: repositoryPath }) path: RepositoryPath,
    @Body({ schema: newSubscription }) wanted: NewSubscription,
  ) {
    return this.view(await this.subscriptions.set(account, path, wanted));
  }

  @Delete()
  @HttpCode(204)
  async remove(
    @CurrentAccount() account: Account,
    @Param({ schema: repositoryPath }) path: RepositoryPath,
  ): Promise<void> {
    await this.subscriptions.remove(account, path);
  }

  private view({ access, subscribed, ignored, createdAt }: Subscription) {
    const { url } = repositoryView(this.settings.publicUrl, access);
    return {
      subscribed,
      ignored,
      reason: null,
      created_at: createdAt?.toISOString() ?? null,
      url: `${url}/subscription`,
      repository_url: url,
    };
  }
}
