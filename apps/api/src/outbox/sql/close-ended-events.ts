import type { Sql } from '@ghost/queue';

/**
 * Marks every event as processed whose consumers have all ended: once a start, for a process that
 * died after a page's commit and before its next claim.
 * @returns whether all are: one that somebody holds is left, as nothing else may wait for it
 */
export async function closeEndedEvents(sql: Sql): Promise<boolean> {
  const [row] = await sql.query<{ all: boolean }>(
    `WITH ended AS MATERIALIZED (
       SELECT e.id FROM outbox_event e
       WHERE e.processed_at IS NULL
         AND NOT EXISTS (SELECT FROM outbox_progress o WHERE o.event_id = e.id AND o.done_at IS NULL)
     ), free AS MATERIALIZED (
       SELECT e.id FROM outbox_event e WHERE e.id = ANY (ARRAY(SELECT id FROM ended)) FOR NO KEY UPDATE SKIP LOCKED
     ), closed AS (
       UPDATE outbox_event e SET processed_at = now() WHERE e.id = ANY (ARRAY(SELECT id FROM free))
     )
     SELECT (SELECT count(*) FROM ended) = (SELECT count(*) FROM free) AS all`,
    [],
  );
  return row?.all ?? true;
}
