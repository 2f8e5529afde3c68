import type { Database } from '@ghost/db';
import type { Settings } from '@ghost/settings';
import { Controller, Inject, Param, Query } from '@nestjs/common';
import * as z from 'zod';

import { type Account, CurrentAccount } from '../../accounts/current-account.js';
import { DATABASE, SETTINGS } from '../../database/tokens.js';
import { Listed } from '../../http/listed.js';
import { Route } from '../../http/route.js';
import { nextStep } from '../deliveries/next-step.js';
import { type HookPath, hookPath } from '../hook-schemas.js';
import { listSkipped, listWaiting } from './undelivered-rows.js';
import {
  type SkippedPage,
  skippedPage,
  type WaitingPage,
  waitingPage,
  writePlace,
  writePlaceOfJob,
} from './undelivered-schemas.js';
import {
  type SkippedAnswer,
  skippedAnswer,
  skippedView,
  type WaitingAnswer,
  waitingAnswer,
  waitingView,
} from './undelivered-view.js';

/** What has no attempt to show, or waits for another: GitHub has no such lists. */
@Controller('repos/:owner/:repo/hooks/:id')
export class UndeliveredController {
  constructor(
    @Inject(DATABASE) private readonly db: Database,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  @Route({
    method: 'GET',
    path: 'waiting',
    access: { for: 'account', scope: 'hooks' },
    id: 'list-hook-waiting',
    summary: 'What waits to be sent to a hook, in the order in which it is sent.',
    status: 200,
    answer: z.array(waitingAnswer),
    paged: true,
    errors: [404, 422],
  })
  async waiting(
    @CurrentAccount() account: Account,
    @Param({ schema: hookPath }) path: HookPath,
    @Query({ schema: waitingPage }) page: WaitingPage,
  ): Promise<Listed<WaitingAnswer>> {
    const found = await listWaiting(this.db, account, path, page);
    const { maxAttempts } = this.settings;
    const now = new Date();
    return Listed.from(
      found,
      page.per_page,
      'waiting',
      ({ place }) => writePlaceOfJob(place),
      (row) => waitingView(row, nextStep(row.job, row.lane, { maxAttempts, now })),
    );
  }

  @Route({
    method: 'GET',
    path: 'skipped',
    access: { for: 'account', scope: 'hooks' },
    id: 'list-hook-skipped',
    summary: 'The events that were not sent to a hook, and why; the newest first.',
    status: 200,
    answer: z.array(skippedAnswer),
    paged: true,
    errors: [404, 422],
  })
  async skipped(
    @CurrentAccount() account: Account,
    @Param({ schema: hookPath }) path: HookPath,
    @Query({ schema: skippedPage }) page: SkippedPage,
  ): Promise<Listed<SkippedAnswer>> {
    const found = await listSkipped(this.db, account, path, page);
    const key = ({ place }: (typeof found)[number]) => writePlace(place);
    return Listed.from(found, page.per_page, 'skipped', key, skippedView);
  }
}
