import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres';
import pg from 'pg';

import * as schema from './schema.js';

export type Pool = pg.Pool;
export type Database = NodePgDatabase<typeof schema>;
/** What publishEvent and a fan-out page run in: a Drizzle transaction. */
export type Transaction = Parameters<Parameters<Database['transaction']>[0]>[0];

const CONNECT_TIMEOUT_MS = 5000;
// The server ends a statement first; the client's own limit is for a server that says nothing at all.
const STATEMENT_TIMEOUT_MS = 30_000;
const QUERY_TIMEOUT_MS = 40_000;
// An open enqueue hides its lanes from every claim, so no transaction may idle.
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 15_000;
const IDLE_CLIENT_MS = 30_000;

export interface PoolOptions {
  connectionString: string;
  /** Shown in pg_stat_activity. */
  name: string;
  max: number;
  /** Hears of idle clients that the server cut; without a listener the process would crash (57P01). */
  onError: (error: Error) => void;
}

/** Makes a pool whose lost connections are logged and replaced. */
export function createPool({ connectionString, name, max, onError }: PoolOptions): Pool {
  const pool = new pg.Pool({
    connectionString,
    application_name: name,
    max,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: IDLE_CLIENT_MS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_TIMEOUT_MS,
    keepAlive: true,
  });
  pool.on('error', onError);
  // A client that is cut while someone holds it fails its query, and must not crash the process besides.
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
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
