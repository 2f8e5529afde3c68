import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { waitUntil } from '../../../test/support/wait-until.js';
import { isRunning, postgresProcessesIn, processStart } from './embedded/process-identity.js';
import { startPostgres, type StartPostgresOptions } from './postgres.js';

const asRoot = process.getuid?.() === 0;
const onLinux = process.platform === 'linux';

let folder: string;
let dataDir: string;
const stops: (() => Promise<void>)[] = [];

beforeEach(async () => {
  folder = await mkdtemp(path.join(onLinux ? '/dev/shm' : tmpdir(), 'ghost-postgres-test-'));
  dataDir = path.join(folder, 'data');
});

afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
  expect(postgresProcessesIn(dataDir, undefined)).toEqual([]);
  await rm(folder, { recursive: true, force: true });
});

async function start(options: Partial<StartPostgresOptions> = {}) {
  const postgres = await startPostgres({ dataDir, settings: { fsync: 'off' }, ...options });
  stops.push(() => postgres.stop());
  return postgres;
}

async function ask(url: string, sql: string): Promise<unknown[][]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query({ text: sql, rowMode: 'array' })).rows as unknown[][];
  } finally {
    await client.end();
  }
}

describe('startPostgres', () => {
  test('keeps the data between starts and leaves nothing running or locked', async () => {
    const first = await start();
    await ask(first.url, 'create table kept (word text)');
    await ask(first.url, `insert into kept values ('日本 👻')`);
    await first.stop();
    expect(await first.exited).toEqual({ code: 0, signal: null });
    expect(isRunning(first.pid)).toBe(false);
    expect(await readdir(folder)).toEqual(['data']);

    const second = await start();
    expect(await ask(second.url, 'select word from kept')).toEqual([['日本 👻']]);
  });

  test('is durable unless told otherwise, UTF-8, and listens on loopback alone', async () => {
    const postgres = await start({ settings: {} });
    const names = ['fsync', 'synchronous_commit', 'server_encoding', 'listen_addresses'];
    const values = await Promise.all(names.map((name) => ask(postgres.url, `show ${name}`)));
    expect(values.flat(2)).toEqual(['on', 'on', 'UTF8', '127.0.0.1']);
  });

  test('hands settings and the log over', async () => {
    const lines: string[] = [];
    const postgres = await start({
      settings: { fsync: 'off', max_connections: '23', log_statement: 'all' },
      log: (line) => lines.push(line),
    });
    expect(await ask(postgres.url, 'show max_connections')).toEqual([['23']]);
    await waitUntil(() => lines.some((line) => line.includes('show max_connections')), {
      what: 'the statement in the log',
    });
  });

  test('stops while a client is in the middle of something, and stops once when asked twice', async () => {
    const postgres = await start();
    const client = new pg.Client({ connectionString: postgres.url });
    const cut = new Promise((resolve) => client.on('error', resolve));
    await client.connect();
    const busy = client.query('select pg_sleep(60)').catch((error: unknown) => error);
    await Promise.all([postgres.stop(), postgres.stop()]);
    expect(await busy).toMatchObject({ code: '57P01' });
    await cut;
  });

  test('starts again after its postmaster was killed, and replays what was committed', async () => {
    const first = await start();
    await ask(first.url, 'create table kept as select 1 as number');
    process.kill(first.pid, 'SIGKILL');
    await first.exited;
    await first.stop();
    const second = await start();
    expect(await ask(second.url, 'select number from kept')).toEqual([[1]]);
  });

  test('refuses a folder on which this process already runs one, and says who', async () => {
    await start();
    await expect(start()).rejects.toMatchObject({
      reason: 'data-folder-in-use',
      message: expect.stringContaining(`Process ${process.pid} already runs`) as unknown,
    });
  });

  test('refuses a port that is taken, and says which', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as { port: number };
    try {
      await expect(start({ port })).rejects.toMatchObject({
        reason: 'port-taken',
        message: expect.stringContaining(`Port ${port}`) as unknown,
      });
    } finally {
      other.close();
    }
    const postgres = await start({ port });
    expect(postgres.port).toBe(port);
  });

  test('tells of damaged data what Postgres said and what to do', async () => {
    await (await start()).stop();
    await rm(path.join(dataDir, 'global', 'pg_control'));
    const failed = start();
    await expect(failed).rejects.toMatchObject({ reason: 'stopped-while-starting' });
    await expect(failed).rejects.toThrow(/pg_control.*\n(.*\n)*.*delete that folder to start/);
    expect(await readdir(folder)).toEqual(['data']);
  });

  test('does not touch a folder with other things in it', async () => {
    await mkdir(dataDir);
    await writeFile(path.join(dataDir, 'letter.txt'), 'dear');
    await expect(start()).rejects.toMatchObject({ reason: 'data-folder-foreign' });
    expect(await readFile(path.join(dataDir, 'letter.txt'), 'utf8')).toBe('dear');
  });

  test('is not fooled by the pid file of a dead postmaster whose pid another process has', async () => {
    await (await start()).stop();
    const pidFile = path.join(dataDir, 'postmaster.pid');
    await writeFile(pidFile, `${process.ppid}\n${dataDir}\n1\n5432\n\n127.0.0.1\n\nready\n`);
    const postgres = await start();
    expect(await ask(postgres.url, 'select 1')).toEqual([[1]]);
  });

  test('makes the data anew where an earlier start was killed in the middle of it', async () => {
    await mkdir(`${dataDir}.new`);
    await writeFile(`${dataDir}.new/PG_VERSION`, '18\n');
    const postgres = await start();
    expect(await ask(postgres.url, 'select 1')).toEqual([[1]]);
  });
});

describe.runIf(onLinux)('leftovers', () => {
  test('stops the Postgres of an owner that died, and starts on its data', async () => {
    const first = await start();
    const owner = spawn(process.execPath, ['-e', '0'], { stdio: 'ignore' });
    await once(owner, 'exit');
    const deadOwner = JSON.stringify({ pid: owner.pid, startedAt: '1' });
    await writeFile(`${dataDir}.lock`, deadOwner);
    const second = await start();
    expect(await first.exited).toEqual({ code: 0, signal: null });
    expect(await ask(second.url, 'select 1')).toEqual([[1]]);
  });

  test('leaves a Postgres alone that runs there without an owner known to it', async () => {
    const first = await start();
    await rm(`${dataDir}.lock`);
    await expect(start()).rejects.toMatchObject({
      reason: 'data-folder-in-use',
      message: expect.stringContaining(`process ${first.pid}`) as unknown,
    });
    expect(await ask(first.url, 'select 1')).toEqual([[1]]);
  });

  test('takes over the lock of a process whose pid was given to another', async () => {
    await mkdir(folder, { recursive: true });
    await writeFile(`${dataDir}.lock`, JSON.stringify({ pid: process.pid, startedAt: '1' }));
    await start();
    const lock = JSON.parse(await readFile(`${dataDir}.lock`, 'utf8')) as unknown;
    expect(lock).toEqual({ pid: process.pid, startedAt: processStart(process.pid) });
  });
});

describe.runIf(asRoot && onLinux)('as root', () => {
  test.each(['namespace', 'capability', 'nobody'] as const)(
    'runs by way of: %s, also on data made by another way',
    async (launcher) => {
      await chmod(folder, 0o755);
      await (await start({ launcher: 'namespace' })).stop();
      const postgres = await start({ launcher });
      expect(await ask(postgres.url, 'select 1')).toEqual([[1]]);
      await postgres.stop();
      const copies = await readdir(tmpdir());
      expect(copies.filter((name) => name.startsWith(`ghost-postgres-${process.pid}-`))).toEqual(
        [],
      );
    },
  );

  test('reaches data below a folder that only root may enter', async () => {
    dataDir = path.join(folder, 'closed', 'data');
    await mkdir(path.dirname(dataDir), { mode: 0o700 });
    for (const launcher of ['namespace', 'capability'] as const) {
      const postgres = await start({ launcher });
      await postgres.stop();
    }
    expect(existsSync(dataDir)).toBe(true);
  });
});
