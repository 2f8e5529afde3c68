import type { PoolClient } from 'pg';

import { databaseErrorCode, isDatabaseOutage } from './database-error.js';
import type { Pool } from './pool.js';

/**
 * The locks are given back before the disk has the transaction, and the answer waits for the disk: a NOTIFY locks the whole
 * server until its commit is over, so those that wake somebody were written one after the other (docs/decisions/0050).
 */
const COMMIT =
  "SET LOCAL synchronous_commit = off; COMMIT; SELECT pg_logical_emit_message(true, 'ghost', '')";
/** A statement failed before. */
const IN_FAILED_TRANSACTION = '25P02';

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
  try {
    await client.query(COMMIT);
  } catch (error) {
    if (databaseErrorCode(error) !== IN_FAILED_TRANSACTION) throw error;
    throw new Error(
      'Nothing was kept: a statement of the transaction failed and its error was swallowed, so nothing can be committed. Let the error out, or put the statement in a savepoint.',
      { cause: error },
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
