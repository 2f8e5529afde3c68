import type { PoolClient } from 'pg';

import { isDatabaseOutage } from './database-error.js';
import type { Pool } from './pool.js';

/**
 * Runs `work` in a transaction on a connection of the pool: commits when it ends, rolls back when it throws.
 * Whatever fails, the pool gets its slot back, and a connection that could not begin, commit or roll back is
 * closed, not used again.
 * @returns what `work` returned, after the commit
 * @throws what `work` threw; else why there was no connection, no BEGIN or no COMMIT. After an outage
 *   during COMMIT nobody knows whether the work was kept.
 */
export async function inClientTransaction<T>(
  pool: Pool,
  work: (client: PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  let usable = false;
  try {
    await client.query('BEGIN');
    let result: T;
    try {
      result = await work(client);
    } catch (error) {
      usable = await rollBack(client, error);
      throw error;
    }
    await commit(client);
    usable = true;
    return result;
  } finally {
    client.release(!usable);
  }
}

async function commit(client: PoolClient): Promise<void> {
  const { command } = await client.query('COMMIT');
  // Postgres answers so, and with no error, when a statement failed and the work went on regardless.
  if (command === 'ROLLBACK') {
    throw new Error(
      'Nothing was kept: a statement of the transaction failed and its error was swallowed, so COMMIT rolled back. Let the error out, or put the statement in a savepoint.',
    );
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
