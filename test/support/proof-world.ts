import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { migrate, type Pool } from '@ghost/db';
import { addAccount } from '@ghost/operations';
import { startPostgres } from '@ghost/playground/postgres';

import { freePort, startApi, testEnvironment } from './ghost-processes.js';
import type { RunningProcess } from './processes.js';
import type { Stops } from './stops.js';
import { openPool } from './test-database.js';
import { databaseUrl } from './test-server.js';

/** A figure that a proof measured, beside what was promised. */
export interface ProofRow {
  what: string;
  figure: string;
  bound: string;
  ok: boolean;
}

export function row(what: string, figure: string, bound: string, ok: boolean): ProofRow {
  return { what, figure, bound, ok };
}

/** A migrated database on a server of its own that is durable, as in production. */
export interface ProofDatabase {
  readonly url: string;
  readonly pool: Pool;
  /** Where its data is. */
  readonly folder: string;
  /** Stops the server, and starts it again where it was. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

/**
 * @param settings - of the server, by name
 * @param log - gets each line that the server logs
 */
export async function startProofDatabase(
  stops: Stops,
  settings: Readonly<Record<string, string>> = {},
  log: (line: string) => void = () => undefined,
): Promise<ProofDatabase> {
  const folder = await mkdtemp(path.join(tmpdir(), 'ghost-prove-'));
  stops.add(() => rm(folder, { recursive: true, force: true }));
  const options = { dataDir: path.join(folder, 'postgres'), settings, log };
  let postgres = await startPostgres(options);
  const port = Number(new URL(postgres.url).port);
  stops.add(() => postgres.stop());
  await migrate(postgres.url);
  const pool = openPool(postgres.url);
  stops.add(() => pool.end());
  return {
    url: postgres.url,
    pool,
    folder: options.dataDir,
    stop: () => postgres.stop(),
    start: async () => {
      postgres = await startPostgres({ ...options, port });
    },
  };
}

/** Another migrated database, on the server of the first; it goes with it. */
export async function addProofDatabase(
  stops: Stops,
  { url, pool }: Pick<ProofDatabase, 'url' | 'pool'>,
  name: string,
): Promise<{ url: string; pool: Pool }> {
  await pool.query(`CREATE DATABASE ${name}`);
  const added = databaseUrl(url, name);
  await migrate(added);
  const addedPool = openPool(added, 1);
  stops.add(() => addedPool.end());
  return { url: added, pool: addedPool };
}

/** The API as it is run for real; `more` is added to its environment. */
export async function startProofApi(
  stops: Stops,
  databaseUrl: string,
  more: Readonly<Record<string, string>> = {},
): Promise<{ process: RunningProcess; url: string }> {
  const port = await freePort();
  const process = await startApi(port, testEnvironment(databaseUrl, more));
  stops.add(() => process.stop());
  return { process, url: `http://127.0.0.1:${port}` };
}

/** Makes an account; returns its token. */
export async function addPerson(pool: Pool, login: string): Promise<string> {
  return (await addAccount(pool, { login, email: `${login}@people.example` })).token;
}

/** Opens a thread, its first, in each repository that is there. */
export async function openThreads(pool: Pool, title: string): Promise<void> {
  await pool.query('INSERT INTO thread_counter (repository_id, last) SELECT id, 1 FROM repository');
  await pool.query(
    `INSERT INTO thread (repository_id, number, author_id, title, body)
     SELECT id, 1, owner_id, $1, '' FROM repository`,
    [title],
  );
  await pool.query('INSERT INTO comment_counter (thread_id) SELECT id FROM thread');
}
