import type { Settings } from '@ghost/settings';
import { Body, Controller, Inject, Param, Query } from '@nestjs/common';
import * as z from 'zod';

import { type Account, CurrentAccount, MaybeAccount } from '../accounts/current-account.js';
import { type PersonAnswer, personAnswer, personView } from '../accounts/person-view.js';
import { SETTINGS } from '../database/tokens.js';
import { Listed } from '../http/listed.js';
import { Route } from '../http/route.js';
import { type RepositoryPath, repositoryPath } from './repository-path.js';
import { type PeopleQuery, peopleQuery } from './repository-queries.js';
import { repositoryUrl } from './repository-urls.js';
import { fullName } from './repository-view.js';
import {
  type NewSubscription,
  newSubscription,
  type SubscriptionAnswer,
  subscriptionAnswer,
} from './subscription-schemas.js';
import { type Subscription, SubscriptionsService } from './subscriptions.service.js';

/** Whether the asker watches a repository, and who does. */
@Controller('repos/:owner/:repo')
export class SubscriptionsController {
  constructor(
    @Inject(SubscriptionsService) private readonly subscriptions: SubscriptionsService,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  @Route({
    method: 'GET',
    path: 'subscribers',
    access: { for: 'anyone', scope: 'repo' },
    id: 'list-subscribers',
    summary: 'Who watches a repository.',
    status: 200,
    answer: z.array(personAnswer),
    paged: true,
    errors: [404, 422],
  })
  async list(
    @MaybeAccount() account: Account | null,
    @Param({ schema: repositoryPath }) path: RepositoryPath,
    @Query({ schema: peopleQuery }) query: PeopleQuery,
  ): Promise<Listed<PersonAnswer>> {
    const people = await this.subscriptions.watchers(account, path, query);
    return Listed.from(
      people,
      query.per_page,
      'accounts',
      ({ id }) => id,
      (person) => personView(this.settings.publicUrl, person),
    );
  }

  @Route({
    method: 'GET',
    path: 'subscription',
    access: { for: 'account', scope: 'repo' },
    id: 'get-repository-subscription',
    summary: 'Whether you watch a repository; 404 when you neither watch nor ignore it.',
    status: 200,
    answer: subscriptionAnswer,
    errors: [404],
  })
  async show(
    @CurrentAccount() account: Account,
    @Param({ schema: repositoryPath }) path: RepositoryPath,
  ): Promise<SubscriptionAnswer> {
    return this.view(await this.subscriptions.find(account, path));
  }

  @Route({
    method: 'PUT',
    path: 'subscription',
    access: { for: 'account', scope: 'repo' },
    id: 'set-repository-subscription',
    summary: 'Watch a repository, or ignore it.',
    status: 200,
    answer: subscriptionAnswer,
    errors: [404, 422],
  })
  async set(
    @CurrentAccount() account: Account,
    @Param({ schema: repositoryPath }) path: RepositoryPath,
    @Body({ schema: newSubscription }) wanted: NewSubscription,
  ): Promise<SubscriptionAnswer> {
    return this.view(await this.subscriptions.set(account, path, wanted));
  }

  @Route({
    method: 'DELETE',
    path: 'subscription',
    access: { for: 'account', scope: 'repo' },
    id: 'delete-repository-subscription',
    summary: 'Watch a repository no more.',
    status: 204,
    answer: null,
    errors: [404],
  })
  async remove(
    @CurrentAccount() account: Account,
    @Param({ schema: repositoryPath }) path: RepositoryPath,
  ): Promise<void> {
    await this.subscriptions.remove(account, path);
  }

  private view({ access, subscribed, ignored, createdAt }: Subscription): SubscriptionAnswer {
    const url = repositoryUrl(this.settings.publicUrl, fullName(access));
    return {
      subscribed,
      ignored,
      reason: null,
      created_at: createdAt.toISOString(),
      url: `${url}/subscription`,
      repository_url: url,
    };
  }
}
