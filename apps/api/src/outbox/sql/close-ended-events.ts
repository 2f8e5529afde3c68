import type { Sql } from '@ghost/queue';

/**
 * Marks every event as processed whose consumers have all ended: once a start, for a process that
 * died after a page's commit and before its next claim.
 */
export async function closeEndedEvents(sql: Sql): Promise<void> {
  await sql.query(
    `UPDATE outbox_event e SET processed_at = now()
     WHERE e.processed_at IS NULL
       AND NOT EXISTS (SELECT FROM outbox_progress o WHERE o.event_id = e.id AND o.done_at IS NULL)`,
    [],
  );
}
