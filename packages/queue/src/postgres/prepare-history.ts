import type { Sql } from '../queue.js';

const DAYS_AHEAD = 3;
/**
 * A day that is attached waits for whoever reads attempts, and whoever comes to read them waits behind it: beside a backup for hours.
 * Long enough for another worker that makes the same days.
 */
const WAITS_MS = 500;

// Of this statement alone; what is volatile runs before the row is there that the days are made for.
const PREPARE = `
  WITH patience AS MATERIALIZED (SELECT set_config('lock_timeout', $2, true))
  SELECT delivery_attempt_make_days($1) FROM patience`;

/**
 * Makes the partitions of today and the days ahead.
 * @throws 55P03 where somebody reads attempts for longer than half a second: another time it may come through
 */
export async function prepareHistory(sql: Sql): Promise<void> {
  await sql.query(PREPARE, [DAYS_AHEAD, `${WAITS_MS}ms`]);
}
