import type { Sql } from '@ghost/queue';

import type { ClaimedProgress } from '../fanout-consumer.js';

/**
 * Ends leases without a verdict and takes the charged start back, under the fence: for an outage of
 * the database, a start that a shutdown forestalled, or a page that somebody held up. A page whose commit had in
 * fact arrived has no lease any more, and stays as it is.
 * @param delayMs until the rows are due
 * @returns those that somebody holds just now: nothing here waits for them
 */
export async function giveBackHeldProgress(
  sql: Sql,
  rows: readonly ClaimedProgress[],
  delayMs: number,
): Promise<ClaimedProgress[]> {
  if (rows.length === 0) return [];
  const locked = await sql.query<{ n: number }>(
    `WITH held AS MATERIALIZED (
       SELECT g.n, p.event_id, p.consumer
       FROM unnest($1::uuid[], $2::text[], $3::bigint[]) WITH ORDINALITY AS g(event_id, consumer, lease_no, n)
       JOIN outbox_progress p ON p.event_id = g.event_id AND p.consumer = g.consumer AND p.lease_no = g.lease_no
       WHERE p.lease_until IS NOT NULL
     ), free AS MATERIALIZED (
       SELECT p.event_id, p.consumer FROM outbox_progress p
       WHERE (p.event_id, p.consumer) IN (SELECT h.event_id, h.consumer FROM held h)
       FOR NO KEY UPDATE SKIP LOCKED
     ), given AS (
       UPDATE outbox_progress p
       SET lease_until = NULL, attempts = greatest(p.attempts - 1, 0),
         run_at = greatest(p.run_at, now() + $4 * interval '1 millisecond')
       FROM free f, held h
       WHERE p.event_id = f.event_id AND p.consumer = f.consumer AND h.event_id = f.event_id AND h.consumer = f.consumer
         AND p.lease_no = ($3::bigint[])[h.n] AND p.lease_until IS NOT NULL
     )
     SELECT h.n::integer AS n FROM held h
     WHERE NOT EXISTS (SELECT FROM free f WHERE f.event_id = h.event_id AND f.consumer = h.consumer)`,
    [
      rows.map((row) => row.event.id),
      rows.map((row) => row.consumer),
      rows.map((row) => row.leaseNo),
      Math.round(delayMs),
    ],
  );
  return locked.flatMap(({ n }) => rows[n - 1] ?? []);
}
