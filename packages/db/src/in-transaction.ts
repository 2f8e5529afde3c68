import { drizzle, NodePgSession, NodePgTransaction } from 'drizzle-orm/node-postgres';
import { PgDialect } from 'drizzle-orm/pg-core';
import type { PoolClient } from 'pg';

import { isDatabaseOutage } from './database-error.js';
import type { Pool, Transaction } from './pool.js';
import * as schema from './schema.js';

const dialect = new PgDialect();
// Reading the relations out of the tables takes Drizzle a while: once is enough.
const relations = readRelations();

/**
 * Runs `work` in a transaction on a connection of the pool: commits when it ends, rolls back when it
 * throws (`tx.rollback()` throws). Whatever fails, the pool gets its slot back, and a connection that
 * could not begin, commit or roll back is closed, not used again. Drizzle's own `transaction`
 * (0.45.4) keeps the slot for ever when BEGIN fails, puts a connection whose statement timed out back
 * among the idle ones, and throws the error of a failed ROLLBACK instead of the work's.
 * @returns what `work` returned, after the commit
 * @throws what `work` threw; else why there was no connection, no BEGIN or no COMMIT. After an outage
 *   during COMMIT nobody knows whether the work was kept.
 */
export async function inTransaction<T>(
  pool: Pool,
  work: (tx: Transaction) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  let usable = false;
  try {
    await client.query('BEGIN');
    let result: T;
    try {
      result = await work(transactionOn(client));
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

function transactionOn(client: PoolClient): Transaction {
  const session = new NodePgSession(client, dialect, relations);
  return new NodePgTransaction(dialect, session, relations);
}

/**
 * The connection of a transaction, for statements whose text never changes: Drizzle would put each together anew
 * (20 % of the API's time while comments are posted). Drizzle has no way of its own to it.
 */
export function connectionOf(tx: Transaction): PoolClient {
  return Reflect.get(tx._.session, 'client') as PoolClient;
}

function readRelations() {
  const { schema: tables, fullSchema, tableNamesMap } = drizzle.mock({ schema })._;
  if (tables === undefined) throw new Error('Drizzle found no tables in the schema');
  return { schema: tables, fullSchema, tableNamesMap };
}
