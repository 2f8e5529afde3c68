import type { Database } from '@ghost/db';
import type { Settings } from '@ghost/settings';
import { Controller, Inject, Param } from '@nestjs/common';

import { type Account, CurrentAccount } from '../../accounts/current-account.js';
import { DATABASE, SETTINGS } from '../../database/tokens.js';
import { Route } from '../../http/route.js';
import { nextStep } from '../deliveries/next-step.js';
import { type HookEventPath, hookEventPath } from './hook-event-path.js';
import { findHookEvent } from './hook-event-rows.js';
import { type HookEventAnswer, hookEventAnswer, hookEventView } from './hook-event-view.js';

/** One event and one hook: delivered, waiting, skipped, or not yet decided. */
@Controller('repos/:owner/:repo/hooks/:id/events')
export class HookEventsController {
  constructor(
    @Inject(DATABASE) private readonly db: Database,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  @Route({
    method: 'GET',
    path: ':event_id',
    access: { for: 'account', scope: 'hooks' },
    id: 'get-hook-event',
    summary: 'What became of an event for a hook, and what happens next.',
    status: 200,
    answer: hookEventAnswer,
    errors: [404],
  })
  async show(
    @CurrentAccount() account: Account,
    @Param({ schema: hookEventPath }) path: HookEventPath,
  ): Promise<HookEventAnswer> {
    const found = await findHookEvent(this.db, account, path);
    const { maxAttempts } = this.settings;
    return hookEventView(found, nextStep(found.job, found.lane, { maxAttempts, now: new Date() }));
  }
}
