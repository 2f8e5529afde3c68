import type { Sql } from '../queue.js';

const DAYS_AHEAD = 3;

/** Makes the partitions of today and the days ahead. */
export async function prepareHistory(sql: Sql): Promise<void> {
  await sql.query('SELECT delivery_attempt_make_days($1)', [DAYS_AHEAD]);
}
