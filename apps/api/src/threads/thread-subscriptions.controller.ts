import { Body, Controller, Inject, Param } from '@nestjs/common';

import { type Account, CurrentAccount } from '../accounts/current-account.js';
import { Route } from '../http/route.js';
import {
  type NewThreadSubscription,
  newThreadSubscription,
  type ThreadPath,
  threadPath,
} from './thread-schemas.js';
import { ThreadSubscriptionsService } from './thread-subscriptions.service.js';
import { threadSubscriptionAnswer } from './thread-view.js';

/** Whether the asker follows a thread. */
@Controller('repos/:owner/:repo/threads/:number/subscription')
export class ThreadSubscriptionsController {
  constructor(
    @Inject(ThreadSubscriptionsService)
    private readonly subscriptions: ThreadSubscriptionsService,
  ) {}

  @Route({
    method: 'GET',
    access: { for: 'account', scope: 'repo' },
    id: 'get-thread-subscription',
    summary: 'Whether you follow a thread.',
    status: 200,
    answer: threadSubscriptionAnswer,
    errors: [404],
  })
  show(@CurrentAccount() account: Account, @Param({ schema: threadPath }) path: ThreadPath) {
    return this.subscriptions.find(account, path);
  }

  @Route({
    method: 'PUT',
    access: { for: 'account', scope: 'repo' },
    id: 'set-thread-subscription',
    summary: 'Follow a thread, or mute it.',
    status: 200,
    answer: threadSubscriptionAnswer,
    errors: [404, 422],
  })
  set(
    @CurrentAccount() account: Account,
    @Param({ schema: threadPath }) path: ThreadPath,
    @Body({ schema: newThreadSubscription }) wanted: NewThreadSubscription,
  ) {
    return this.subscriptions.set(account, path, wanted);
  }

  @Route({
    method: 'DELETE',
    access: { for: 'account', scope: 'repo' },
    id: 'delete-thread-subscription',
    summary: 'Forget that you follow or muted a thread.',
    status: 204,
    answer: null,
    errors: [404],
  })
  async remove(
    @CurrentAccount() account: Account,
    @Param({ schema: threadPath }) path: ThreadPath,
  ): Promise<void> {
    await this.subscriptions.remove(account, path);
  }
}
