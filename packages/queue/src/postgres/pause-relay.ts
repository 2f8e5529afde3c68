import type { Sql } from '../queue.js';

/** Lets the relay rest; a longer rest that is already set stays. */
export async function pauseRelay(sql: Sql, reason: string, pauseMs: number): Promise<void> {
  await sql.query(
    `INSERT INTO delivery_relay (id, paused_until, reason, failures)
     VALUES (true, now() + $2 * interval '1 millisecond', $1, 1)
     ON CONFLICT (id) DO UPDATE SET paused_until = greatest(delivery_relay.paused_until, excluded.paused_until),
       reason = excluded.reason, failures = least(delivery_relay.failures + 1, 30000)`,
    [reason, Math.round(pauseMs)],
  );
}
