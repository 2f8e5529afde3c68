import type { RelayRest, Sql } from '../queue.js';

// The row is locked before its times are looked at: of two workers' faults the second finds the rest of the first.
const PAUSE = `
  INSERT INTO delivery_relay AS r (id, paused_until, reason, failures)
  VALUES (true, clock_timestamp() + ($2::float8[])[1] * interval '1 millisecond', $1, 1)
  ON CONFLICT (id) DO UPDATE SET reason = excluded.reason,
    failures = CASE WHEN r.paused_until > clock_timestamp() THEN r.failures ELSE least(r.failures + 1, 30000) END,
    paused_until = CASE
      WHEN r.paused_until > clock_timestamp() THEN r.paused_until
      ELSE clock_timestamp() + ($2::float8[])[least(r.failures + 1, cardinality($2::float8[]))] * interval '1 millisecond'
    END
  RETURNING failures, (extract(epoch FROM paused_until - clock_timestamp()) * 1000)::float8 AS "pauseMs"`;

/** Lets the relay rest, for longer after each fault in a row; while it does, another fault is no new one. */
export async function pauseRelay(
  sql: Sql,
  reason: string,
  pausesMs: readonly number[],
): Promise<RelayRest> {
  const [rest] = await sql.query<RelayRest>(PAUSE, [reason, pausesMs]);
  if (rest === undefined) throw new Error('The rest of the relay was not stored');
  return rest;
}
