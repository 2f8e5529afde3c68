import type { Consumer } from '@ghost/contract';
import type { Sql } from '@ghost/queue';

/** So many stand before others, and not all of a great backlog. */
const MOST_ROWS = 5_000;

/** Makes what is due of a repository for a consumer due later, uncharged; what somebody holds or works on stays as it is. */
export async function putOffDueProgress(
  sql: Sql,
  repositoryId: number,
  consumer: Consumer,
  delayMs: number,
): Promise<void> {
  await sql.query(
    `UPDATE outbox_progress p SET run_at = now() + $3 * interval '1 millisecond'
     FROM (
       SELECT d.event_id, d.consumer
       FROM outbox_progress d JOIN outbox_event e ON e.id = d.event_id
       WHERE d.done_at IS NULL AND d.set_aside_at IS NULL AND d.lease_until IS NULL AND d.run_at <= now()
         AND d.consumer = $2 AND e.repository_id = $1::bigint
       ORDER BY d.run_at, d.event_id LIMIT ${MOST_ROWS}
       FOR NO KEY UPDATE OF d SKIP LOCKED
     ) due
     WHERE p.event_id = due.event_id AND p.consumer = due.consumer`,
    [repositoryId, consumer, Math.round(delayMs)],
  );
}
