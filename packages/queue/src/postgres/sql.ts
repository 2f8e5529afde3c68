import { hash } from 'node:crypto';

import {
  type Connection,
  connectionOf,
  databaseErrorCode,
  IDLE_IN_TRANSACTION_TIMEOUT_MS,
  inClientTransaction,
  type Pool,
  type Transaction,
} from '@ghost/db';

import type { Sql } from '../queue.js';

export interface PoolSqlOptions {
  /**
   * Statements are planned once a connection and kept there: a look-up of hooks took 0.6 ms without and 0.1 ms
   * with it (measured). Not behind a pooler in transaction mode: the next statement may be on another connection.
   */
  prepared?: boolean;
}

/**
 * Runs each statement in a transaction of its own that waits no longer for a lock, and fails with 55P03: for a pool whose
 * connections have no time-outs of theirs, as behind a pooler.
 */
export function sqlWithLockTimeout(pool: Pool, lockWithinMs: number): Sql {
  return {
    query: <Row extends object>(text: string, values: readonly unknown[]) =>
      inClientTransaction(pool, async (client) => {
        await client.query(
          `SET LOCAL lock_timeout = ${Math.round(lockWithinMs)}; SET LOCAL idle_in_transaction_session_timeout = ${IDLE_IN_TRANSACTION_TIMEOUT_MS}`,
        );
        return sqlOfClient(client).query<Row>(text, values);
      }),
  };
}

const NAME_CHARACTERS = 16;
/**
 * What a kept statement alone fails with, before it does anything: it is not there (26000) or somebody else's (42P05), as
 * behind a pooler that nobody told us of, or what it answers has changed since it was planned (0A000).
 */
const NOT_AS_KEPT: ReadonlySet<string | undefined> = new Set(['26000', '42P05', '0A000']);

const names = new Map<string, string>();

/** By its text: where connections are shared after all, a name is never that of another statement. */
function nameOf(text: string): string {
  const name = names.get(text) ?? `ghost_${hash('sha256', text).slice(0, NAME_CHARACTERS)}`;
  names.set(text, name);
  return name;
}

/** Runs each statement on whichever pooled connection is free. */
export function sqlOfPool(pool: Pool, { prepared = false }: PoolSqlOptions = {}): Sql {
  let keeping = prepared;
  return {
    async query<Row extends object>(text: string, values: readonly unknown[]): Promise<Row[]> {
      if (keeping) {
        try {
          const kept = { name: nameOf(text), text, values: [...values] };
          return (await pool.query<Row>(kept)).rows;
        } catch (error) {
          if (!NOT_AS_KEPT.has(databaseErrorCode(error))) throw error;
          // From now on without: the statement itself may be as good as before.
          keeping = false;
        }
      }
      return (await pool.query<Row>(text, [...values])).rows;
    },
  };
}

/** Runs statements in a Drizzle transaction. */
export function sqlOf(tx: Transaction): Sql {
  return sqlOfClient(connectionOf(tx));
}

/** Runs statements on one connection, in the transaction that is open there, if one is. */
export function sqlOfClient(client: Connection): Sql {
  return {
    async query<Row extends object>(text: string, values: readonly unknown[]): Promise<Row[]> {
      const result = await client.query<Row>(text, [...values]);
      return result.rows;
    },
  };
}
