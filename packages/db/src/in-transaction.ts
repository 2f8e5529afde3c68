import { drizzle, NodePgSession, NodePgTransaction } from 'drizzle-orm/node-postgres';
import { PgDialect } from 'drizzle-orm/pg-core';
import type { PoolClient } from 'pg';

import { inClientTransaction, type TransactionOptions } from './in-client-transaction.js';
import type { Pool, Transaction } from './pool.js';
import * as schema from './schema.js';

const dialect = new PgDialect();
// Reading the relations out of the tables takes Drizzle a while: once is enough.
const relations = readRelations();

/**
 * Runs `work` in a Drizzle transaction, as {@link inClientTransaction} does (`tx.rollback()` throws). Drizzle's own
 * `transaction` (0.45.4) keeps the slot for ever when BEGIN fails, puts a connection whose statement timed out back
 * among the idle ones, and throws the error of a failed ROLLBACK instead of the work's.
 * @returns what `work` returned, after the commit
 * @throws as {@link inClientTransaction} does
 */
export async function inTransaction<T>(
  pool: Pool,
  work: (tx: Transaction) => Promise<T>,
  options: TransactionOptions = {},
): Promise<T> {
  return inClientTransaction(pool, (client) => work(transactionOn(client)), options);
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
