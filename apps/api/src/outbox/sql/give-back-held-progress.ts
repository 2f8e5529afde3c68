import type { Sql } from '@ghost/queue';

import type { ClaimedProgress } from '../fanout-consumer.js';

/**
 * Ends leases without a verdict and takes the charged start back, under the fence: for an outage of
 * the database, or a start that a shutdown forestalled. A page whose commit had in fact arrived has
 * no lease any more, and stays as it is.
 * @param delayMs until the rows are due
 */
export async function giveBackHeldProgress(
  sql: Sql,
  rows: readonly ClaimedProgress[],
  delayMs: number,
): Promise<void> {
  if (rows.length === 0) return;
  await sql.query(
    `UPDATE outbox_progress p
     SET lease_until = NULL, attempts = greatest(p.attempts - 1, 0),
       run_at = greatest(p.run_at, now() + $4 * interval '1 millisecond')
     FROM unnest($1::uuid[], $2::text[], $3::bigint[]) AS g(event_id, consumer, lease_no)
     WHERE p.event_id = g.event_id AND p.consumer = g.consumer AND p.lease_no = g.lease_no
       AND p.lease_until IS NOT NULL`,
    [
      rows.map((row) => row.event.id),
      rows.map((row) => row.consumer),
      rows.map((row) => row.leaseNo),
      Math.round(delayMs),
    ],
  );
}
