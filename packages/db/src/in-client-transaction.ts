import type { PoolClient } from 'pg';

import { commit } from './commit.js';
import { isDatabaseOutage } from './database-error.js';
import type { Pool } from './pool.js';

const BEGIN_TO_READ = 'BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY';

export interface TransactionOptions {
  /** Reads one snapshot and writes nothing, so that there is nothing to wait for. */
  readOnly?: boolean;
  /** A statement that waits longer for another transaction fails with 55P03; left out: what the connection has. */
  lockWithinMs?: number;
}

/**
 * Runs `work` in a transaction on a connection of the pool: commits when it ends, rolls back when it throws.
 * Whatever fails, the pool gets its slot back, and a connection that could not begin, commit or roll back is
 * closed, not used again.
 * @returns what `work` returned, once the commit is on the disk; others may see it a moment before
 * @throws what `work` threw; else why there was no connection, no BEGIN or no COMMIT. After an outage
 *   during COMMIT nobody knows whether the work was kept.
 */
export async function inClientTransaction<T>(
  pool: Pool,
  work: (client: PoolClient) => Promise<T>,
  { readOnly = false, lockWithinMs }: TransactionOptions = {},
): Promise<T> {
  const client = await pool.connect();
  let usable = false;
  try {
    const begin = readOnly ? BEGIN_TO_READ : 'BEGIN';
    await client.query(
      lockWithinMs === undefined
        ? begin
        : `${begin}; SET LOCAL lock_timeout = ${Math.round(lockWithinMs)}`,
    );
    let result: T;
    try {
      result = await work(client);
    } catch (error) {
      usable = await rollBack(client, error);
      throw error;
    }
    await (readOnly ? client.query('COMMIT') : commit(client));
    usable = true;
    return result;
  } finally {
    client.release(!usable);
  }
}

/** @returns whether the connection can be used again */
async function rollBack(client: PoolClient, reason: unknown): Promise<boolean> {
  // The server rolls back what it loses; a ROLLBACK would wait behind a statement that timed out.
  if (isDatabaseOutage(reason)) return false;
  try {
    await client.query('ROLLBACK');
    return true;
  } catch {
    return false;
  }
}
