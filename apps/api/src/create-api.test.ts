import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { createServer } from 'node:net';

import { StartError } from '@ghost/operations';
import { readSettings } from '@ghost/settings';
import { generateKeyEntry } from '@ghost/vault';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';

import { startTestApi, type TestApi, type TestApiOptions } from '../../../test/support/test-api.js';
import { createTestDatabase, type TestDatabase } from '../../../test/support/test-database.js';
import { databaseUrl, withClient } from '../../../test/support/test-server.js';
import { waitUntil } from '../../../test/support/wait-until.js';
import { createApi } from './create-api.js';
import { NotifierService } from './notifier/notifier.service.js';
import { ShutdownError } from './shutdown-error.js';

const KEYS = generateKeyEntry('k1');

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

/** Starts with an environment, and returns what it fails with. */
async function failureOf(env: NodeJS.ProcessEnv): Promise<StartError> {
  const settings = readSettings(
    {
      DATABASE_URL: database.url,
      PORT: '0',
      GHOST_PUBLIC_URL: 'https://ghost.example',
      GHOST_SECRET_KEYS: KEYS,
      GHOST_MAIL_FROM: 'noreply@ghost.example',
      LOG_LEVEL: 'silent',
      ...env,
    },
    'api',
  );
  const outcome = await createApi({ settings }).catch((error: unknown) => {
    if (error instanceof StartError) return error;
    throw error;
  });
  if (outcome instanceof StartError) return outcome;
  await outcome.close();
  throw new Error('It started.');
}

async function connectionsTo(url: string): Promise<string[]> {
  return withClient(inject('databaseBaseUrl'), async (client) => {
    const { rows } = await client.query<{ name: string }>(
      'SELECT application_name AS name FROM pg_stat_activity WHERE datname = $1',
      [new URL(url).pathname.slice(1)],
    );
    return rows.map(({ name }) => name);
  });
}

describe('a start that cannot succeed', () => {
  test('a database that nothing serves: 69, where, what to do, no password', async () => {
    const closed = createServer().listen(0, '127.0.0.1');
    await once(closed, 'listening');
    const { port } = closed.address() as { port: number };
    closed.close();
    await once(closed, 'close');
    const error = await failureOf({
      DATABASE_URL: `postgres://ghost:hunter2@127.0.0.1:${port}/ghost`,
    });
    expect(error.exitCode).toBe(69);
    expect(error.message).toContain(`127.0.0.1:${port}`);
    expect(error.message).toMatch(/Start Postgres/u);
    expect(error.message).not.toContain('hunter2');
  });

  test('a database that does not exist: 69', async () => {
    const error = await failureOf({ DATABASE_URL: databaseUrl(database.url, 'no_such_database') });
    expect(error.exitCode).toBe(69);
    expect(error.message).toMatch(/"no_such_database" at .* there is no such database/u);
  });

  test('a database without migrations: 78, and the command that makes them', async () => {
    const base = inject('databaseBaseUrl');
    const name = 'ghost_test_unmigrated';
    await withClient(base, (client) => client.query(`CREATE DATABASE ${name} TEMPLATE template0`));
    try {
      const error = await failureOf({ DATABASE_URL: databaseUrl(base, name) });
      expect(error.exitCode).toBe(78);
      expect(error.message).toContain('npx ghost migrate');
    } finally {
      await withClient(base, (client) => client.query(`DROP DATABASE ${name} WITH (FORCE)`));
    }
  });

  test('a port in use: 69, and no connection is left behind', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as { port: number };
    const error = await failureOf({ PORT: String(port) });
    taken.close();
    expect(error.exitCode).toBe(69);
    expect(error.message).toMatch(new RegExp(`Port ${port} .*HOST, PORT`, 'u'));
    await waitUntil(async () => (await connectionsTo(database.url)).length === 0, {
      what: 'every connection to end',
    });
  });

  test('an address that is not this machine: 78', async () => {
    const error = await failureOf({ HOST: '192.0.2.1', PORT: '1' });
    expect(error.exitCode).toBe(78);
    expect(error.message).toMatch(/192\.0\.2\.1.*Correct HOST or PORT/u);
  });

  test('a key that does not open the secrets in the database: 78', async () => {
    const api = await startTestApi();
    const ada = await api.addPerson('ada');
    await ada.ask('POST', '/user/repos', { name: 'engine' });
    await ada.ask('POST', '/repos/ada/engine/hooks', { config: { url: 'https://a.example/' } });
    for (const keys of [KEYS, KEYS.replace('k1:', 'test:')]) {
      const error = await failureOf({ DATABASE_URL: api.database.url, GHOST_SECRET_KEYS: keys });
      expect(error.exitCode).toBe(78);
      expect(error.message).toContain('GHOST_SECRET_KEYS');
      expect(error.message).not.toContain(keys);
    }
    await api.stop();
  });
});

describe('an orderly end', () => {
  /** An API with a repository whose row another connection holds, so that a removal waits. */
  async function startWithLock(options: TestApiOptions) {
    const api = await startTestApi(options);
    const ada = await api.addPerson('ada');
    await api.addPerson('bob');
    await ada.ask('POST', '/user/repos', { name: 'engine' });
    await ada.ask('PUT', '/repos/ada/engine/collaborators/bob');
    const lock = await api.pool.connect();
    await lock.query('BEGIN');
    await lock.query(`SELECT FROM repository WHERE name = 'engine' FOR UPDATE`);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const answer = new Promise<IncomingMessage>((resolve, reject) => {
      const asked = request(`${api.url}/api/repos/ada/engine/collaborators/bob`, {
        method: 'DELETE',
        agent,
        headers: { authorization: `Bearer ${ada.token}` },
      });
      asked.on('response', resolve).on('error', reject).end();
    });
    answer.catch(() => undefined);
    await api.waitUntilBlocked();
    const unlock = async () => {
      await lock.query('COMMIT');
      lock.release();
    };
    return { api, answer, unlock, agent };
  }

  async function isRefused(api: TestApi): Promise<boolean> {
    return fetch(`${api.url}/healthz`).then(
      () => false,
      () => true,
    );
  }

  test('new connections are refused, the request under way is answered, nothing stays open', async () => {
    const { api, answer, unlock, agent } = await startWithLock({});
    const ended = api.api.close();
    expect(api.api.close()).toBe(ended);
    await waitUntil(() => isRefused(api), { what: 'new connections to be refused' });
    await unlock();
    const response = await answer;
    expect(response.statusCode).toBe(204);
    expect(response.headers.connection).toBe('close');
    response.resume();
    await ended;
    agent.destroy();
    const names = await connectionsTo(api.database.url);
    expect(names.filter((name) => name.startsWith('ghost api'))).toEqual([]);
    await api.stop();
  });

  test('a request that does not end is cut, so that the rest ends in time', async () => {
    const { api, answer, unlock, agent } = await startWithLock({
      env: { GHOST_SHUTDOWN_GRACE_MS: '1000' },
    });
    const ended = api.api.close();
    await expect(answer).rejects.toThrow(/hang up|ECONNRESET/u);
    await unlock();
    await ended;
    agent.destroy();
    await api.stop();
  });

  test('when fan-out does not end within the grace period, the error says so', async () => {
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let entered = false;
    const api = await startTestApi({
      env: { GHOST_SHUTDOWN_GRACE_MS: '300' },
      instrument: (instance) => {
        if (instance instanceof NotifierService) {
          const page = instance.page.bind(instance);
          instance.page = async (...given) => {
            entered = true;
            await held;
            return page(...given);
          };
        }
        return instance;
      },
    });
    const ada = await api.addPerson('ada');
    await ada.ask('POST', '/user/repos', { name: 'engine' });
    await ada.ask('POST', '/repos/ada/engine/threads', { title: 'a' });
    await waitUntil(() => entered, { what: 'a page of fan-out' });
    const failure: unknown = await api.api.close().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ShutdownError);
    expect(String(failure)).toMatch(/GHOST_SHUTDOWN_GRACE_MS \(300 ms\).*fan-out/u);
    release();
    await waitUntil(
      async () =>
        !(await connectionsTo(api.database.url)).some((name) => name.startsWith('ghost api')),
      { what: 'the rest to end by itself' },
    );
    await api.database.drop();
  });
});
