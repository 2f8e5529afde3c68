import type { Pool } from '@ghost/db';

import { waitUntil } from './wait-until.js';

/** Waits until a statement, or more, waits for another transaction; returns the text of one. */
export function untilBlocked(
  pool: Pool,
  what = 'a transaction that waits',
  least = 1,
): Promise<string> {
  return waitUntil(
    async () => {
      const blocked = await blockedStatements(pool);
      return blocked.length >= least ? blocked[0] : undefined;
    },
    { what },
  );
}

/** Whether a statement of a test waits for another transaction now. */
export async function isBlocked(pool: Pool): Promise<boolean> {
  return (await blockedStatements(pool)).length > 0;
}

async function blockedStatements(pool: Pool): Promise<string[]> {
  const { rows } = await pool.query<{ query: string }>(
    'SELECT query FROM pg_stat_activity WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0',
  );
  return rows.map(({ query }) => query);
}

/** How many statements of the API wait for a lock; of those alone that are LIKE one, where it is given. */
export async function countBlocked(pool: Pool, like = '%'): Promise<number> {
  const { rows } = await pool.query(
    `SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'ghost api'
       AND wait_event_type = 'Lock' AND query LIKE $1`,
    [like],
  );
  return rows.length;
}
