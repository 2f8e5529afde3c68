import { type Database, inTransaction, type Pool } from '@ghost/db';
import { auditHook, redeliverJob } from '@ghost/operations';
import { type Queue, sqlOf } from '@ghost/queue';
import type { Settings } from '@ghost/settings';
import { Inject, Injectable } from '@nestjs/common';

import type { Account } from '../../accounts/current-account.js';
import { DATABASE, POOL, QUEUE, SETTINGS } from '../../database/tokens.js';
import { ApiError } from '../../http/api-error.js';
import { auditedRepository } from '../../repositories/audit-access.js';
import { holdAccess } from '../../repositories/repository-access.js';
import { lockHook } from '../hook-rows.js';
import type { HookPath } from '../hook-schemas.js';
import {
  type FoundAttempt,
  findAttempt,
  jobOfAttempt,
  type ListedAttempt,
  listAttempts,
} from './delivery-rows.js';
import type { DeliveryPage, DeliveryPath } from './delivery-schemas.js';
import { type NextStep, nextStep } from './next-step.js';

@Injectable()
export class DeliveriesService {
  constructor(
    @Inject(DATABASE) private readonly db: Database,
    @Inject(POOL) private readonly pool: Pool,
    @Inject(QUEUE) private readonly queue: Queue,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** One more than the page holds, when there are more. */
  async list(account: Account, path: HookPath, page: DeliveryPage): Promise<ListedAttempt[]> {
    return listAttempts(this.db, account, path, page);
  }

  async find(
    account: Account,
    path: DeliveryPath,
  ): Promise<{ attempt: FoundAttempt; next: NextStep }> {
    const attempt = await findAttempt(this.db, account, path);
    const { maxAttempts } = this.settings;
    const next = nextStep(attempt.job, attempt.lane, { maxAttempts, now: new Date() });
    return { attempt, next };
  }

  /**
   * Sends the delivery of an attempt again, however often that was asked before.
   * @throws ApiError 404, 403 and 401 as for any hook; 409 when it is pending, or may go to nobody
   */
  async redeliver(account: Account, path: DeliveryPath): Promise<void> {
    await inTransaction(this.pool, async (tx) => {
      const access = await holdAccess(tx, account, path, 'admin');
      const hook = await lockHook(tx, access, path);
      const jobId = await jobOfAttempt(tx, path);
      if (!hook.active) throw refused('its hook is not active: make it so, then ask again');
      const change = await redeliverJob(tx, this.queue, jobId);
      if (change.result === 'refused') throw refused(change.reason);
      const at = { hook, repository: auditedRepository(access), actor: account };
      const detail = { delivery: jobId, attempt: path.delivery_id };
      await auditHook(sqlOf(tx), at, 'hook.redelivered', detail);
    });
  }
}

function refused(reason: string): ApiError {
  const message = `This delivery is not sent again: ${reason}.`;
  return new ApiError({ status: 409, code: 'not_redelivered', message });
}
