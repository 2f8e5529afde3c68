import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres';
import pg from 'pg';

import { DatabaseUnavailableError } from './database-error.js';
import * as schema from './schema.js';

export type Pool = pg.Pool;
export type PoolClient = pg.PoolClient;
/** A connection, whether of a pool or not. */
export type Connection = pg.ClientBase;
export type Database = NodePgDatabase<typeof schema>;
/** What publishEvent and a fan-out page run in: a Drizzle transaction. */
export type Transaction = Parameters<Parameters<Database['transaction']>[0]>[0];

/** For the whole way to a usable connection; a server that accepts and says nothing ends with it. */
export const CONNECT_TIMEOUT_MS = 5000;
/** The longest a statement of a process may take: none is meant to take a second. */
const ANSWER_WITHIN_MS = 40_000;
// The server ends a statement first; the client's own limit is for a server that says nothing at all.
const STATEMENT_SHARE = 0.75;
/** An open transaction may hide its lanes from every claim, so none may idle. */
export const IDLE_IN_TRANSACTION_TIMEOUT_MS = 15_000;
const IDLE_CLIENT_MS = 30_000;

export interface PoolOptions {
  connectionString: string;
  /** Shown in pg_stat_activity. */
  name: string;
  max: number;
  /**
   * Without an answer in that time a statement has failed as an outage, and its connection is closed: it
   * may be half open. Null where a person waits and may wait for long.
   */
  answerWithinMs?: number | null;
  /** A statement that waits longer for another transaction fails with 55P03. Default: it waits. */
  lockWithinMs?: number;
  /** Hears of idle clients that the server cut; without a listener the process would crash (57P01). */
  onError: (error: Error) => void;
}

/** The connections of each pool, idle and lent. */
const connections = new WeakMap<Pool, Set<pg.PoolClient>>();

/** Makes a pool whose lost connections are logged and replaced. */
export function createPool(options: PoolOptions): Pool {
  const { connectionString, name, max, onError, answerWithinMs = ANSWER_WITHIN_MS } = options;
  const { lockWithinMs } = options;
  const pool = new pg.Pool({
    connectionString,
    application_name: name,
    max,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: IDLE_CLIENT_MS,
    ...(answerWithinMs === null
      ? {}
      : {
          statement_timeout: Math.round(answerWithinMs * STATEMENT_SHARE),
          query_timeout: answerWithinMs,
        }),
    ...(lockWithinMs === undefined ? {} : { lock_timeout: lockWithinMs }),
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_TIMEOUT_MS,
    keepAlive: true,
  });
  const open = new Set<pg.PoolClient>();
  connections.set(pool, open);
  pool.on('error', onError);
  pool.on('connect', (client) => {
    open.add(client);
    // A client that is cut while someone holds it fails its query, and must not crash the process besides.
    client.on('error', () => undefined);
  });
  pool.on('remove', (client) => open.delete(client));
  return pool;
}

/**
 * Closes every connection of a pool without a word to the server: after a clock gap they may be dead, and a
 * statement on a dead one waits for its whole time-out. Statements under way fail as an outage; the next ones
 * get new connections.
 * @returns how many there were
 */
export function dropConnections(pool: Pool): number {
  const open = [...(connections.get(pool) ?? [])];
  connections.get(pool)?.clear();
  for (const { connection } of open) {
    // As a socket that fails would say it, but now: the next statement may come before the socket's own event.
    connection.emit('error', new DatabaseUnavailableError('The connection was given up'));
    connection.stream.destroy();
  }
  return open.length;
}

/** Drizzle over a pool, for reads and single statements (`inTransaction` is for more); the caller ends the pool. */
export function createDatabase(pool: Pool): Database {
  return drizzle(pool, { schema });
}

/**
 * The name for Drizzle's `prepare`: its text is put together once, and the server keeps nothing, as a
 * statement that a connection has kept is not there on the next one of a pooler in transaction mode.
 */
export const UNNAMED = '';
