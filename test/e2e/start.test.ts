import { once } from 'node:events';
import { createServer } from 'node:net';

import { expect, onTestFinished, test } from 'vitest';

import {
  API_ENTRY,
  CLI_ENTRY,
  DELIVERY_ENTRY,
  freePort,
  testEnvironment,
} from '../support/ghost-processes.js';
import { type ProcessEnd, startProcess } from '../support/processes.js';
import { proveLanes } from '../support/prove-lanes.js';
import { startGhost } from '../support/running-ghost.js';
import { createTestDatabase } from '../support/test-database.js';
import { databaseUrl, withClient } from '../support/test-server.js';
import { waitUntil } from '../support/wait-until.js';
import { startReceiver } from '../support/webhook-receiver.js';

const ENTRIES = [
  ['api', API_ENTRY],
  ['delivery', DELIVERY_ENTRY],
] as const;

async function endOf(
  entry: string,
  env: Readonly<Record<string, string>>,
  args: readonly string[] = [],
): Promise<ProcessEnd & { said: string }> {
  const running = await startProcess({ name: entry, entry, env, args });
  const end = await running.exited;
  return { ...end, said: running.lines().join('\n') };
}

async function migratedDatabase(): Promise<string> {
  const database = await createTestDatabase();
  onTestFinished(() => database.drop());
  return database.url;
}

async function takenPort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('No port.');
  return address.port;
}

test.each(ENTRIES)('%s with its port taken says which and exits 69', async (_name, entry) => {
  const port = await takenPort();
  const env = { ...testEnvironment(await migratedDatabase()), PORT: String(port) };
  const { code, said } = await endOf(entry, env);
  expect(said).toContain(String(port));
  expect(said).toContain('PORT');
  expect(code).toBe(69);
});

test.each(ENTRIES)(
  '%s without a Postgres says where it looked, without the password, and exits 69',
  async (_name, entry) => {
    const port = await freePort();
    const env = {
      ...testEnvironment(`postgres://ghost:hunter2@127.0.0.1:${port}/ghost`),
      PORT: '0',
      GHOST_PUBLIC_URL: 'https://ghost.example',
    };
    const { code, said } = await endOf(entry, env);
    expect(said).toContain(`127.0.0.1:${port}`);
    expect(said).not.toContain('hunter2');
    expect(code).toBe(69);
  },
);

test.each(ENTRIES)(
  '%s on a database that was not migrated names the command and exits 78',
  async (_name, entry) => {
    const url = await migratedDatabase();
    const name = `${new URL(url).pathname.slice(1)}_empty`;
    await withClient(url, (client) => client.query(`CREATE DATABASE ${name} TEMPLATE template0`));
    onTestFinished(() =>
      withClient(url, (client) => client.query(`DROP DATABASE ${name} WITH (FORCE)`)).then(
        () => undefined,
      ),
    );
    const { code, said } = await endOf(entry, {
      ...testEnvironment(databaseUrl(url, name)),
      PORT: '0',
      GHOST_PUBLIC_URL: 'https://ghost.example',
    });
    expect(said).toContain('npx ghost migrate');
    expect(code).toBe(78);
  },
);

test.each(ENTRIES)(
  '%s reports every faulty setting in one message and exits 78',
  async (_name, entry) => {
    const { code, said } = await endOf(entry, {
      DATABASE_URL: 'mysql://x:hunter2@y/z',
      GHOST_SECRET_KEYS: 'k1:tooshort',
      GHOST_LEASE: '30',
      GHOST_LEASE_MS: '-1',
      GHOST_ALLOW_CIDRS: '10.0.0.0/99',
    });
    for (const name of [
      'DATABASE_URL',
      'GHOST_SECRET_KEYS',
      'GHOST_LEASE',
      'GHOST_LEASE_MS',
      'GHOST_ALLOW_CIDRS',
    ]) {
      expect(said).toContain(name);
    }
    expect(said).not.toContain('hunter2');
    expect(said).not.toContain('tooshort');
    expect(code).toBe(78);
  },
);

test('a process whose key ring cannot read the stored secrets says so and exits 78', async () => {
  const ghost = await startGhost();
  const ada = await ghost.person('ada');
  await ada.expect(201, 'POST', '/user/repos', { name: 'demo', private: false });
  await ada.expect(201, 'POST', '/repos/ada/demo/hooks', {
    config: { url: 'http://127.0.0.1:9/' },
  });
  const other = `other:${Buffer.from('0123456789abcdef0123456789abcdeF').toString('base64')}`;
  for (const [, entry] of ENTRIES) {
    const { code, said } = await endOf(entry, {
      ...ghost.env,
      PORT: '0',
      GHOST_PUBLIC_URL: 'https://ghost.example',
      GHOST_SECRET_KEYS: other,
    });
    expect(said).toContain('GHOST_SECRET_KEYS');
    expect(code).toBe(78);
  }
});

test('delivery without a relay starts, says what to set, and keeps the mails', async () => {
  const ghost = await startGhost();
  await ghost.delivery.stop();
  const { GHOST_SMTP_URL: _relay, ...env } = ghost.env as Record<string, string>;
  const port = await freePort();
  const delivery = await startProcess({
    name: 'delivery',
    entry: DELIVERY_ENTRY,
    env: { ...env, PORT: String(port) },
    ready: /"delivery\.started"/,
  });
  expect(delivery.lines().join('\n')).toContain('GHOST_SMTP_URL');
  const [ada, brian] = [await ghost.person('ada'), await ghost.person('brian')];
  await ada.expect(201, 'POST', '/user/repos', { name: 'demo', private: false });
  await brian.expect(200, 'PUT', '/repos/ada/demo/subscription', { subscribed: true });
  await ada.expect(201, 'POST', '/repos/ada/demo/threads', { title: 'A thread', body: 'Start' });
  const jobs = () =>
    ghost.pool.query<{ status: string; attempts: number }>(
      `SELECT status, attempts FROM delivery_job WHERE kind = 'email'`,
    );
  await waitUntil(async () => (await jobs()).rows.length === 1, { what: 'the mail to be queued' });
  expect((await delivery.stop()).code).toBe(0);
  expect((await jobs()).rows).toEqual([{ status: 'pending', attempts: 0 }]);
});

test('SIGTERM during work exits 0, charges nothing, and the work goes on elsewhere', async () => {
  const ghost = await startGhost({ GHOST_SHUTDOWN_GRACE_MS: '1000', GHOST_LEASE_MS: '60000' });
  const ada = await ghost.person('ada');
  await ada.expect(201, 'POST', '/user/repos', { name: 'demo', private: false });
  await ada.expect(201, 'POST', '/repos/ada/demo/threads', { title: 'A thread', body: 'Start' });
  let answer: 'hang' | number = 200;
  const endpoint = await startReceiver(() => answer);
  onTestFinished(() => endpoint.stop());
  const { id } = await ada.expect<{ id: number }>(201, 'POST', '/repos/ada/demo/hooks', {
    config: { url: endpoint.url },
    events: ['comment.created'],
  });
  // Its ping is delivered; then all that comes may be in flight at once.
  await ghost.settled();
  await proveLanes(ghost.pool, [`hook:${id}`]);
  answer = 'hang';
  for (let n = 0; n < 5; n += 1) {
    await ada.expect(201, 'POST', '/repos/ada/demo/threads/1/comments', { body: `Comment ${n}` });
  }
  await endpoint.waitForRequests(6);
  const ends = await Promise.all([ghost.delivery.stop(), ghost.api.stop()]);
  expect(ends.map(({ code }) => code)).toEqual([0, 0]);
  const { rows } = await ghost.pool.query<{ free: boolean; attempts: number }>(
    `SELECT lease_until IS NULL AS free, attempts FROM delivery_job WHERE status = 'pending' AND kind = 'webhook'`,
  );
  expect(rows).toHaveLength(5);
  for (const row of rows) expect(row).toEqual({ free: true, attempts: 0 });
  answer = 200;
  const port = await freePort();
  await startProcess({
    name: 'delivery',
    entry: DELIVERY_ENTRY,
    env: { ...ghost.env, PORT: String(port) },
    ready: /"delivery\.started"/,
  });
  await ghost.settled();
});

test('ghost tells a bad setting and a missing database apart', async () => {
  const bad = await endOf(CLI_ENTRY, { DATABASE_URL: 'nonsense' }, ['migrate']);
  expect(bad.code).toBe(78);
  const port = await freePort();
  const missing = await endOf(
    CLI_ENTRY,
    { DATABASE_URL: `postgres://ghost@127.0.0.1:${port}/ghost` },
    ['migrate'],
  );
  expect(missing.said).toContain(`127.0.0.1:${port}`);
  expect(missing.code).toBe(69);
});
