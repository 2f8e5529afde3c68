import { inTransaction, isDatabaseOutage, type Pool } from '@ghost/db';
import { type Queue, sqlOf } from '@ghost/queue';

import type { ClaimedProgress, FanoutConsumer } from './fanout-consumer.js';
import { lockClaimedProgress } from './sql/lock-claimed-progress.js';
import { savePage } from './sql/save-page.js';

/** How the start of one page ended. */
export type PageOutcome =
  | { state: 'saved'; jobs: number; skipped: number; last: boolean }
  /** Somebody else holds the row now: nothing was written. */
  | { state: 'fenced' }
  /** The consumer's fault, or ours: charged. */
  | { state: 'failed'; error: unknown }
  /** The database's: charged to nobody. */
  | { state: 'outage'; error: unknown };

/**
 * One page of one consumer in one transaction: locks, audience, progress, jobs, commit. The lanes are
 * touched by the last statement, as an open enqueue hides them from every claim.
 */
export async function fanOutPage(
  pool: Pool,
  queue: Queue,
  consumer: FanoutConsumer,
  claimed: ClaimedProgress,
  pauseMs: number,
): Promise<PageOutcome> {
  try {
    return await inTransaction(pool, async (tx): Promise<PageOutcome> => {
      const sql = sqlOf(tx);
      if (!(await lockClaimedProgress(sql, claimed))) return { state: 'fenced' };
      const page = await consumer.page(tx, claimed.event, claimed.cursor);
      await savePage(sql, claimed, page, pauseMs);
      const jobs = await queue.enqueue(sql, page.jobs);
      return { state: 'saved', jobs, skipped: page.skips.length, last: page.cursor === null };
    });
  } catch (error) {
    return { state: isDatabaseOutage(error) ? 'outage' : 'failed', error };
  }
}
