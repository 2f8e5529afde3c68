import {
  inTransaction,
  isDatabaseOutage,
  isLockTimeout,
  type Pool,
  type Transaction,
} from '@ghost/db';
import { type Queue, sqlOf } from '@ghost/queue';

import type { ClaimedProgress, FanoutConsumer } from './fanout-consumer.js';
import { lockClaimedProgress } from './sql/lock-claimed-progress.js';
import { savePage } from './sql/save-page.js';

/** How the start of one page ended. */
export type PageOutcome =
  | { state: 'saved'; jobs: number; skipped: number; last: boolean }
  /** Somebody else holds the row now: nothing was written. */
  | { state: 'fenced' }
  /** Somebody holds what the page needs, for longer than it waits: charged to nobody, and nothing was written. */
  | { state: 'held_up'; error: unknown }
  /** The consumer's fault, or ours: charged. */
  | { state: 'failed'; error: unknown }
  /** The database's: charged to nobody. */
  | { state: 'outage'; error: unknown };

export interface PageWaits {
  /** Between this page and the next of its event. */
  pauseMs: number;
  /** Whatever the page needs may be held by another transaction for so long. */
  lockWithinMs: number;
}

/**
 * One page of one consumer in one transaction: locks, audience, progress, jobs, commit. The lanes are
 * touched by the last statement, as an open enqueue hides them from every claim.
 */
export async function fanOutPage(
  pool: Pool,
  queue: Queue,
  consumer: FanoutConsumer,
  claimed: ClaimedProgress,
  { pauseMs, lockWithinMs }: PageWaits,
): Promise<PageOutcome> {
  const page = async (tx: Transaction): Promise<PageOutcome> => {
    const sql = sqlOf(tx);
    if (!(await lockClaimedProgress(sql, claimed))) return { state: 'fenced' };
    const made = await consumer.page(tx, claimed.event, claimed.cursor);
    await savePage(sql, claimed, made, pauseMs);
    const jobs = await queue.enqueue(sql, made.jobs);
    return { state: 'saved', jobs, skipped: made.skips.length, last: made.cursor === null };
  };
  try {
    return await inTransaction(pool, page, { lockWithinMs });
  } catch (error) {
    if (isLockTimeout(error)) return { state: 'held_up', error };
    return { state: isDatabaseOutage(error) ? 'outage' : 'failed', error };
  }
}
