import { randomBytes } from 'node:crypto';
import { lstat, mkdtemp, readdir, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { migrate } from '@ghost/db';
import { startPostgres } from '@ghost/playground/postgres';
import pg from 'pg';

const MEMORY_FOLDER = '/dev/shm';
/** A test run writes some hundred MB; a full memory disk fails in odd ways. */
const MEMORY_FOLDER_MIN_BYTES = 2 * 1024 ** 3;
const FOLDER_PREFIX = 'ghost-test-';
/** Test data is thrown away: nothing of it needs to reach a disk. */
const FAST_SETTINGS = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  // Each test file has a database, a pool and often two processes with pools of their own.
  max_connections: '200',
};

/** A Postgres with a migrated database to copy, shared by all tests of a run. */
export interface TestServer {
  readonly baseUrl: string;
  readonly template: string;
  stop(): Promise<void>;
}

interface BaseServer {
  readonly url: string;
  stop(): Promise<void>;
}

/**
 * Starts an embedded Postgres in memory if there is room, else in the folder for temporary files;
 * with GHOST_TEST_DATABASE_URL that server is used instead (its user must be able to create
 * databases), and left as it was.
 */
export async function startTestServer(): Promise<TestServer> {
  const given = process.env['GHOST_TEST_DATABASE_URL'];
  const base =
    given === undefined || given === ''
      ? await startEmbedded()
      : { url: given, stop: () => Promise.resolve() };
  const template = `ghost_template_${randomBytes(6).toString('hex')}`;
  try {
    await makeTemplate(base.url, template);
  } catch (error) {
    await base.stop();
    throw error;
  }
  return {
    baseUrl: base.url,
    template,
    stop: async () => {
      if (given) await dropTemplate(base.url, template);
      await base.stop();
    },
  };
}

async function startEmbedded(): Promise<BaseServer> {
  const parent = await chooseFolder();
  await removeOldFolders(parent);
  const folder = await mkdtemp(path.join(parent, `${FOLDER_PREFIX}${process.pid}-`));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    const dataDir = path.join(folder, 'postgres');
    const postgres = await startPostgres({ dataDir, settings: FAST_SETTINGS });
    return {
      url: postgres.url,
      stop: async () => {
        await postgres.stop();
        await remove();
      },
    };
  } catch (error) {
    await remove();
    throw error;
  }
}

async function chooseFolder(): Promise<string> {
  try {
    const { bavail, bsize } = await statfs(MEMORY_FOLDER);
    if (bavail * bsize > MEMORY_FOLDER_MIN_BYTES) return MEMORY_FOLDER;
  } catch {
    // Not Linux.
  }
  return tmpdir();
}

/** A run that was killed leaves its data behind; the pid in the name tells whether it still runs. */
async function removeOldFolders(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    const pid = Number(/^ghost-test-(\d+)-/.exec(name)?.[1]);
    if (Number.isNaN(pid) || isAlive(pid)) continue;
    const folder = path.join(parent, name);
    if ((await lstat(folder)).uid === process.getuid?.()) {
      await rm(folder, { recursive: true, force: true });
    }
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function makeTemplate(baseUrl: string, template: string): Promise<void> {
  await withClient(baseUrl, (client) =>
    client.query(`create database ${template} template template0`),
  );
  await migrate(databaseUrl(baseUrl, template));
  // Copying fails while anybody is connected to the original.
  await withClient(baseUrl, (client) =>
    client.query(`alter database ${template} allow_connections false`),
  );
}

async function dropTemplate(baseUrl: string, template: string): Promise<void> {
  await withClient(baseUrl, (client) =>
    client.query(`drop database if exists ${template} with (force)`),
  );
}

/** The same server, another database. */
export function databaseUrl(baseUrl: string, database: string): string {
  const url = new URL(baseUrl);
  url.pathname = `/${database}`;
  return url.href;
}

/** Runs `work` on a connection of its own. */
export async function withClient<T>(
  url: string,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  // A connection that is cut fails the next statement, not the process.
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
