import type { Sql } from '@ghost/queue';

import type { ClaimedProgress } from '../fanout-consumer.js';

export interface Failure {
  /** One short line, without secrets: operators and owners read it. */
  error: string;
  delayMs: number;
  maxAttempts: number;
}

export type FailedProgress = 'retry' | 'set_aside' | 'fenced';

/**
 * Writes a consumer's failure under the fence: tried again after the delay, or set aside. Waits for nobody who holds the row: its lease
 * runs out then, and it is tried again.
 */
export async function failHeldProgress(
  sql: Sql,
  claimed: ClaimedProgress,
  failure: Failure,
): Promise<FailedProgress> {
  const [row] = await sql.query<{ set_aside: boolean }>(
    `UPDATE outbox_progress
     SET lease_until = NULL, last_error = $4, run_at = now() + $5 * interval '1 millisecond',
       set_aside_at = CASE WHEN attempts >= $6 THEN now() END
     WHERE (event_id, consumer) IN (
       SELECT p.event_id, p.consumer FROM outbox_progress p
       WHERE p.event_id = $1 AND p.consumer = $2 AND p.lease_no = $3 AND p.lease_until IS NOT NULL
       FOR NO KEY UPDATE SKIP LOCKED
     )
     RETURNING set_aside_at IS NOT NULL AS set_aside`,
    [
      claimed.event.id,
      claimed.consumer,
      claimed.leaseNo,
      failure.error,
      Math.round(failure.delayMs),
      failure.maxAttempts,
    ],
  );
  if (!row) return 'fenced';
  return row.set_aside ? 'set_aside' : 'retry';
}
