import type { Sql } from '../queue.js';

/**
 * Each worker takes a batch ahead, so nothing true is so many batches ahead: it is of a clock that was set back, or of a
 * rate that was much lower.
 */
const MOST_BATCHES_AHEAD = 100;

// The row is locked before its times are looked at, so workers take their turns one behind the other.
const TAKE = `
  INSERT INTO delivery_relay_turn AS t (id, next_at) VALUES (true, clock_timestamp() + $1::float8 * interval '1 millisecond')
  ON CONFLICT (id) DO UPDATE SET next_at = $1::float8 * interval '1 millisecond' + least(
    greatest(t.next_at, clock_timestamp()), clock_timestamp() + $2::float8 * interval '1 millisecond')
  RETURNING (extract(epoch FROM next_at - clock_timestamp()) * 1000 - $1::float8)::float8 AS "inMs"`;

export async function takeRelayTurns(
  sql: Sql,
  turns: number,
  everyMs: number,
  batchMs: number,
): Promise<number> {
  const [row] = await sql.query<{ inMs: number }>(TAKE, [
    turns * everyMs,
    MOST_BATCHES_AHEAD * batchMs,
  ]);
  return Math.max(0, row?.inMs ?? 0);
}
