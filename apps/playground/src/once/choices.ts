import type { Pool } from '@ghost/db';

/** Why fan-out leaves out a person who could have chosen otherwise, as `fanout_skip` names it. */
export type ChosenReason = 'ignored' | 'muted';

/** What people chose: by login, every reason that is true now. */
export type Choices = ReadonlyMap<string, readonly ChosenReason[]>;

/** Who ignores the repository or has muted the thread of some events, by event; those without are missing. */
export async function findChoices(
  pool: Pool,
  eventIds: readonly string[],
): Promise<Map<string, Choices>> {
  const { rows } = await pool.query<{ event_id: string; login: string; reasons: ChosenReason[] }>(
    `SELECT chosen.event_id, a.login, array_agg(chosen.reason ORDER BY chosen.reason) AS reasons
     FROM (
       SELECT e.id AS event_id, w.account_id, 'ignored' AS reason
       FROM outbox_event e JOIN watch w ON w.repository_id = e.repository_id AND w.ignored
       WHERE e.id = ANY ($1::uuid[])
       UNION ALL
       SELECT e.id, s.account_id, 'muted'
       FROM outbox_event e
       JOIN thread_subscription s ON s.thread_id = (e.payload #>> '{thread,id}')::bigint AND s.muted
       WHERE e.id = ANY ($1::uuid[])
     ) AS chosen
     JOIN account a ON a.id = chosen.account_id
     GROUP BY chosen.event_id, a.login`,
    [eventIds],
  );
  const found = new Map<string, Map<string, readonly ChosenReason[]>>();
  for (const { event_id: event, login, reasons } of rows) {
    const choices = found.get(event) ?? new Map<string, readonly ChosenReason[]>();
    found.set(event, choices.set(login, reasons));
  }
  return found;
}
