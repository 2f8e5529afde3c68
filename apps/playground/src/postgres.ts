import type { ChildProcess } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { findBinaries } from './embedded/binaries.js';
import { prepareData, SUPERUSER } from './embedded/data-folder.js';
import { takeDataLock } from './embedded/data-lock.js';
import { chooseLauncher, type Launcher, type LauncherKind } from './embedded/launcher.js';
import { readPostmasterFile, sweepLeftovers } from './embedded/leftovers.js';
import { findFreePort, isFree, LOOPBACK } from './embedded/ports.js';
import { PostgresStartError } from './embedded/postgres-start-error.js';
import {
  collectLines,
  type ProgramEnd,
  startFailure,
  whenEnded,
} from './embedded/program-output.js';
import { settledWithin } from './processes/settled-within.js';

export { PostgresStartError } from './embedded/postgres-start-error.js';

const DATABASE = 'ghost';
/** Recovery after a kill replays up to 1 GB of log; on a slow disk that takes most of a minute. */
const READY_WITHIN_MS = 120_000;
const READY_POLL_MS = 20;
/** A fast shutdown writes a checkpoint first. */
const STOP_WITHIN_MS = 30_000;
const QUIT_WITHIN_MS = 5_000;
/** Somebody else may take a free port between our look and Postgres' bind. */
const PORT_TRIES = 5;

/** Making the data (the first start only), or starting on it. */
export type PostgresPart = 'data' | 'server';

export interface StartPostgresOptions {
  /** Made at the first start; `<dataDir>.lock` beside it says who runs on it. */
  readonly dataDir: string;
  /** A free one by default. */
  readonly port?: number;
  /** Gets each line that Postgres logs. */
  readonly log?: (line: string) => void;
  /** Server settings, such as `{ fsync: 'off' }`. Without any, Postgres is durable. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Called around each part that takes a while. */
  readonly during?: <T>(part: PostgresPart, work: () => Promise<T>) => Promise<T>;
  /** Tests choose; otherwise the first that works here. */
  readonly launcher?: LauncherKind;
}

export interface RunningPostgres {
  /** The database `ghost`, as a superuser, over loopback, without a password. */
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** Settles when Postgres ended, for whatever reason. */
  readonly exited: Promise<ProgramEnd>;
  /** Disconnects every client, writes a checkpoint and ends. May be called twice. */
  stop(): Promise<void>;
}

interface Server {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly port: number;
  readonly exited: Promise<ProgramEnd>;
}

/**
 * Starts the embedded Postgres on a data folder, making the folder first if there is none. What an
 * earlier run left behind when it was killed is cleared away. The data stays between starts; the
 * port may change.
 *
 * @throws {PostgresStartError} with what failed, Postgres' last words and what to do.
 */
export async function startPostgres(options: StartPostgresOptions): Promise<RunningPostgres> {
  const dataDir = path.resolve(options.dataDir);
  const { root } = await findBinaries();
  await makeFolder(path.dirname(dataDir));
  const lock = await takeDataLock(dataDir);
  let launcher: Launcher | undefined;
  try {
    await sweepLeftovers(dataDir, lock.ownerDied);
    launcher = await chooseLauncher(root, options.launcher);
    const during = options.during ?? ((_part, work) => work());
    await prepareData(launcher, dataDir, {
      unsafe: options.settings?.['fsync'] === 'off',
      during: (work) => during('data', work),
    });
    const chosen = launcher;
    const server = await during('server', () => startServer(chosen, dataDir, options));
    return running(server, dataDir, async () => {
      await launcher?.dispose();
      await lock.release();
    });
  } catch (error) {
    await launcher?.dispose();
    await lock.release();
    throw error;
  }
}

function running(server: Server, dataDir: string, release: () => Promise<void>): RunningPostgres {
  const { child, pid, port, exited } = server;
  // The last resort where the kernel does not do it for us: `process.exit` without `stop`.
  const stopAtExit = () => child.kill('SIGINT');
  process.once('exit', stopAtExit);
  let stopping: Promise<void> | undefined;
  const stop = async () => {
    await endServer(server, dataDir);
    process.off('exit', stopAtExit);
    await release();
  };
  return {
    url: databaseUrl(port, DATABASE),
    port,
    pid,
    exited,
    stop: () => {
      stopping ??= stop();
      return stopping;
    },
  };
}

function databaseUrl(port: number, database: string): string {
  return `postgres://${SUPERUSER}@${LOOPBACK}:${port}/${database}`;
}

async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true });
  } catch (cause) {
    throw new PostgresStartError(
      'data-folder-unusable',
      `Could not make the folder ${folder} for the data of Postgres. Choose a folder that you may write to.`,
      { cause },
    );
  }
}

async function startServer(
  launcher: Launcher,
  dataDir: string,
  options: StartPostgresOptions,
): Promise<Server> {
  if (options.port !== undefined && !(await isFree(options.port))) {
    throw new PostgresStartError(
      'port-taken',
      `Port ${options.port} on ${LOOPBACK} is taken by another program. Stop it, or use another port.`,
    );
  }
  for (let attempt = 1; ; attempt++) {
    const port = options.port ?? (await findFreePort());
    try {
      return await bootServer(launcher, dataDir, port, options);
    } catch (error) {
      const lostRace = options.port === undefined && !(await isFree(port));
      if (!lostRace || attempt === PORT_TRIES) throw error;
    }
  }
}

async function bootServer(
  launcher: Launcher,
  dataDir: string,
  port: number,
  options: StartPostgresOptions,
): Promise<Server> {
  const settings = {
    ...options.settings,
    listen_addresses: LOOPBACK,
    port: String(port),
    // Loopback is enough, and a socket's path may be at most 107 bytes long.
    unix_socket_directories: '',
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const child = launcher.launch('postgres', ['-D', dataDir, ...flags]);
  const log = collectLines(child, options.log);
  const exited = whenEnded(child);
  const server: Server = { child, pid: child.pid ?? 0, port, exited };
  try {
    await untilReady(server, dataDir, log, launcher.hint);
    await createDatabase(port);
    return server;
  } catch (error) {
    await endServer(server, dataDir);
    throw error;
  }
}

async function untilReady(
  server: Server,
  dataDir: string,
  log: readonly string[],
  hint: readonly string[],
): Promise<void> {
  let end: ProgramEnd | undefined;
  void server.exited.then((outcome) => {
    end = outcome;
  });
  const giveUpAt = performance.now() + READY_WITHIN_MS;
  while (!(await saysReady(server.pid, dataDir))) {
    if (end !== undefined) {
      const how = end.signal === null ? `exit code ${end.code}` : `signal ${end.signal}`;
      throw startFailure(
        'stopped-while-starting',
        `Postgres stopped while starting (${how})`,
        log,
        [
          `Data: ${dataDir}`,
          ...hint,
          'If its last words say that the data is damaged or of another version: delete that folder to start with an empty database (all data in it is lost), or put a backup there.',
        ],
      );
    }
    if (performance.now() > giveUpAt) {
      const what = `Postgres was not ready within ${READY_WITHIN_MS / 1000} s`;
      const advice = [`Data: ${dataDir}`, 'Start again: it goes on where it was.'];
      throw startFailure('not-ready-in-time', what, log, advice);
    }
    await delay(READY_POLL_MS);
  }
}

/** The postmaster writes its state into line 8 of its pid file; `pg_ctl start` reads it there. */
async function saysReady(pid: number, dataDir: string): Promise<boolean> {
  const lines = await readPostmasterFile(path.join(dataDir, 'postmaster.pid'));
  return Number(lines[0]) === pid && lines[7]?.trim() === 'ready';
}

async function createDatabase(port: number): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl(port, 'postgres') });
  await client.connect();
  try {
    const found = await client.query('select from pg_database where datname = $1', [DATABASE]);
    if (found.rowCount === 0) await client.query(`create database ${DATABASE}`);
  } finally {
    await client.end();
  }
}

/** SIGINT is Postgres' fast shutdown; SIGTERM would wait for clients to leave. */
async function endServer(server: Server, dataDir: string): Promise<void> {
  const { child, exited } = server;
  const ended = (signal: NodeJS.Signals, waitMs: number) => {
    child.kill(signal);
    return settledWithin(exited, waitMs);
  };
  if (!(await ended('SIGINT', STOP_WITHIN_MS)) && !(await ended('SIGQUIT', QUIT_WITHIN_MS))) {
    child.kill('SIGKILL');
    await exited;
  }
  // A postmaster that was killed, by us or by others, could not end its children.
  await sweepLeftovers(dataDir, true);
}
