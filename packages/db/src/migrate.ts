import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

import { drizzle } from 'drizzle-orm/node-postgres';
import { migrate as applyMigrations } from 'drizzle-orm/node-postgres/migrator';
import type pg from 'pg';

import { withClient } from './with-client.js';

// From the root, as the bundle of delivery, apps/delivery/dist, lies as deep as this file and elsewhere.
const MIGRATIONS_FOLDER = fileURLToPath(
  new URL('../../../packages/db/migrations', import.meta.url),
);
const OLDEST_SERVER = 150_000;
// Any number that nothing else uses: concurrent runs wait for each other instead of colliding.
const MIGRATION_LOCK = 4_731_092_117;
// Asked at each start: a server that says nothing must not hang it. A migration itself takes as long as it takes.
const STATE_WITHIN_MS = 10_000;
const NAMED = { application_name: 'ghost migrate' };

export interface MigrationState {
  applied: number;
  /** Names of migrations that this version has and the database lacks. */
  pending: string[];
}

/** A server that cannot hold the schema. */
export class DatabaseVersionError extends Error {
  override readonly name = 'DatabaseVersionError';
}

/** Brings a database to this version's schema; safe to run at once from many places, and again. */
export async function migrate(databaseUrl: string): Promise<MigrationState> {
  return withClient({ connectionString: databaseUrl, ...NAMED }, async (client) => {
    await requireServer(client);
    await client.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    try {
      await applyMigrations(drizzle(client), { migrationsFolder: MIGRATIONS_FOLDER });
    } finally {
      await client.query('SELECT pg_advisory_unlock($1)', [MIGRATION_LOCK]);
    }
    return readState(client);
  });
}

/** Tells what is applied and what is missing; changes nothing. */
export async function migrationState(databaseUrl: string): Promise<MigrationState> {
  const limits = { ...NAMED, query_timeout: STATE_WITHIN_MS };
  return withClient({ connectionString: databaseUrl, ...limits }, async (client) => {
    await requireServer(client);
    return readState(client);
  });
}

async function requireServer(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ number: number; version: string }>(
    `SELECT current_setting('server_version_num')::int AS number, current_setting('server_version') AS version`,
  );
  const server = rows[0];
  if (!server || server.number < OLDEST_SERVER) {
    throw new DatabaseVersionError(
      `Ghost Delivery needs Postgres 15 or newer; this server is ${server?.version ?? 'unknown'}.`,
    );
  }
}

async function readState(client: pg.Client): Promise<MigrationState> {
  const journal = JSON.parse(await readFile(`${MIGRATIONS_FOLDER}/meta/_journal.json`, 'utf8')) as {
    entries: { tag: string; when: number }[];
  };
  const { rows: found } = await client.query<{ exists: boolean }>(
    `SELECT to_regclass('drizzle.__drizzle_migrations') IS NOT NULL AS exists`,
  );
  if (!found[0]?.exists) return { applied: 0, pending: journal.entries.map((entry) => entry.tag) };
  const { rows } = await client.query<{ created_at: string }>(
    'SELECT created_at FROM drizzle.__drizzle_migrations',
  );
  const applied = new Set(rows.map((row) => Number(row.created_at)));
  return {
    applied: applied.size,
    pending: journal.entries.filter((entry) => !applied.has(entry.when)).map((entry) => entry.tag),
  };
}
