import type { JobKind } from '@ghost/contract';
import type { Pool } from '@ghost/db';

import type { Queue } from '../queue.js';
import { cancel } from './cancel.js';
import { cancelLater } from './cancel-later.js';
import { cancelSome } from './cancel-some.js';
import { carefulClaims } from './careful-claims.js';
import { claim } from './claim.js';
import { confirm } from './confirm.js';
import { enqueue } from './enqueue.js';
import { extend } from './extend.js';
import { hold } from './hold.js';
import { limit } from './limit.js';
import { limitRate } from './limit-rate.js';
import { nextDue } from './next-due.js';
import { pauseRelay } from './pause-relay.js';
import { prepareHistory } from './prepare-history.js';
import { redeliver } from './redeliver.js';
import { release } from './release.js';
import { resume } from './resume.js';
import { settle } from './settle.js';
import { type PoolSqlOptions, sqlOfPool, sqlWithLockTimeout } from './sql.js';
import { storeContent } from './store-content.js';
import { takeRelayTurns } from './take-relay-turns.js';
import { unlessLocked } from './unless-locked.js';

export const DEFAULT_LEASE_MS = 30_000;
export const DEFAULT_LANE_SLOTS = 10;

export interface PostgresQueueOptions extends PoolSqlOptions {
  pool: Pool;
  /** How long a claim holds its jobs unless extended. */
  leaseMs?: number;
  /** Jobs in flight a lane, over all workers, where the lane itself says nothing. */
  laneSlots?: number;
  /**
   * Of a kind the name of a SQL function that is asked in the round trip of a claim, once its jobs are taken: it gets the ids
   * of their hooks (bigint[]) and returns json, which is `Claim.beside`. It must be VOLATILE, or it sees what was before the claim.
   */
  beside?: Partial<Record<JobKind, string>>;
  /**
   * How long `settle`, `extend` and `release` wait for a lock, set for each of their statements. Left out: what the pool's
   * connections have, which is cheaper; behind a pooler they can have nothing.
   */
  lockWithinMs?: number;
}

/** The queue on the `delivery_job` table; see docs/decisions for the scheme. */
export function createPostgresQueue(options: PostgresQueueOptions): Queue {
  const sql = sqlOfPool(options.pool, options);
  const leaseMs = options.leaseMs ?? DEFAULT_LEASE_MS;
  const slots = options.laneSlots ?? DEFAULT_LANE_SLOTS;
  const { beside = {}, lockWithinMs } = options;
  const carefully = carefulClaims(() => performance.now());
  const bounded = lockWithinMs === undefined ? sql : sqlWithLockTimeout(options.pool, lockWithinMs);
  return {
    storeContent,
    enqueue,
    cancel,
    cancelLater,
    cancelSome,
    hold,
    resume,
    limit,
    limitRate,
    redeliver,
    claim: (capacity) =>
      carefully((careful) =>
        claim(sql, capacity, { slots, leaseMs, beside: beside[capacity.kind], careful }),
      ),
    settle: (settlements) =>
      unlessLocked(sql, settlements, () => settle(bounded, settlements, slots)),
    extend: (leases) => unlessLocked(sql, leases, () => extend(bounded, leases, leaseMs)),
    release: (leases) => unlessLocked(sql, leases, () => release(bounded, leases)),
    confirm: (lease) => confirm(sql, lease),
    nextDue: (known, options) => nextDue(sql, known, options),
    pauseRelay: (reason, pausesMs) => pauseRelay(sql, reason, pausesMs),
    takeRelayTurns: (turns, everyMs, batchMs) => takeRelayTurns(sql, turns, everyMs, batchMs),
    prepareHistory: () => prepareHistory(sql),
  };
}
