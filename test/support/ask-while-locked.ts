import type { Pool } from '@ghost/db';

import { countBlocked } from './until-blocked.js';
import { waitUntil } from './wait-until.js';

/** Runs a statement of the transaction that holds the lock. */
export type Run = (sql: string) => Promise<unknown>;

/**
 * Asks while a transaction holds what `lock` locks. Once the request waits, or is answered without waiting,
 * `meanwhile` does more, and the transaction commits.
 */
export async function askWhileLocked<T>(
  pool: Pool,
  lock: string,
  ask: () => Promise<T>,
  meanwhile: (run: Run) => Promise<unknown>,
): Promise<T> {
  const holder = await pool.connect();
  try {
    await holder.query('BEGIN');
    await holder.query(lock);
    let answered = false;
    const asking = ask().finally(() => {
      answered = true;
    });
    const waits = async () => answered || (await countBlocked(pool)) > 0;
    await waitUntil(waits, { what: 'the request to wait' });
    await meanwhile((sql) => holder.query(sql));
    await holder.query('COMMIT');
    return await asking;
  } finally {
    await holder.query('ROLLBACK');
    holder.release();
  }
}
