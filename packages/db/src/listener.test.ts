import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';

import { rawServer, untilTestEnds } from '../../../test/support/servers-of-a-test.js';
import { startTcpProxy, type TcpProxy } from '../../../test/support/tcp-proxy.js';
import { createTestDatabase, type TestDatabase } from '../../../test/support/test-database.js';
import { waitUntil } from '../../../test/support/wait-until.js';
import { Listener } from './listener.js';
import { createPool, type Pool } from './pool.js';

let database: TestDatabase;
let pool: Pool;

beforeAll(async () => {
  database = await createTestDatabase();
  pool = createPool({
    connectionString: database.url,
    name: 'test',
    max: 2,
    onError: () => undefined,
  });
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

async function listen(
  connectionString: string,
  { heartbeatMs = 60_000, firstReconnectMs = 20 } = {},
) {
  const heard: string[] = [];
  const problems: string[] = [];
  const listener = new Listener({
    connectionString,
    channels: ['ghost_outbox'],
    name: 'listener under test',
    heartbeatMs,
    heartbeatTimeoutMs: 200,
    firstReconnectMs,
    onWake: (why) => heard.push(why),
    onProblem: (message) => problems.push(message),
  });
  await listener.start();
  onTestFinished(() => listener.stop());
  return { listener, heard, problems };
}

test('a second channel is heard on the same connection, and told by its name', async () => {
  const heard: (string | null)[] = [];
  const listener = new Listener({
    connectionString: database.url,
    channels: ['ghost_outbox', 'ghost_replay'],
    name: 'listener under test',
    heartbeatMs: 60_000,
    onWake: (_why, channel) => heard.push(channel),
    onProblem: () => undefined,
  });
  onTestFinished(() => listener.stop());
  await listener.start();
  for (const channel of ['ghost_replay', 'ghost_delivery', 'ghost_outbox']) {
    await pool.query(`NOTIFY ${channel}`);
  }
  await waitUntil(() => heard.length === 3, { what: 'both notifications' });
  expect(heard).toEqual([null, 'ghost_replay', 'ghost_outbox']);
  expect(await backends()).toHaveLength(1);
});

async function proxy(): Promise<TcpProxy> {
  const { port } = new URL(database.url);
  return untilTestEnds(await startTcpProxy({ targetPort: Number(port) }));
}

/** What is connected now, by process id. */
const backends = async () => {
  const { rows } = await pool.query<{ pid: number }>(
    `SELECT pid FROM pg_stat_activity WHERE application_name = 'listener under test listener'`,
  );
  return rows.map(({ pid }) => pid);
};

const notify = () => pool.query('NOTIFY ghost_outbox');

test('a listener whose backend is terminated connects again and hears what comes then', async () => {
  const { heard, problems } = await listen(database.url);
  expect(heard).toEqual(['connected']);
  await pool.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'listener under test listener'`,
  );
  await waitUntil(() => heard.length === 2, { what: 'the second connection' });
  expect(problems).toHaveLength(1);
  await notify();
  await waitUntil(() => heard.length === 3, { what: 'the notification' });
  expect(heard).toEqual(['connected', 'connected', 'notified']);
});

test('a half-open connection is found by the heartbeat, and made anew at once', async () => {
  const between = await proxy();
  // Later tries would come too late for this test: the first must not wait.
  const { heard, problems } = await listen(between.urlFor(database.url), { heartbeatMs: 600 });
  expect(heard).toEqual(['connected']);
  for (const connection of between.connections()) connection.blackHole();
  await waitUntil(() => heard.length === 2, { what: 'the new connection' });
  expect(problems).toEqual([expect.stringContaining('trying again at once')]);
  await notify();
  await waitUntil(() => heard.includes('notified'), { what: 'the notification' });
});

test('a connection that is lost as soon as it is made is not made without end', async () => {
  const { heard, problems } = await listen(database.url, { firstReconnectMs: 5_000 });
  await pool.query('SELECT pg_terminate_backend($1)', await backends());
  await waitUntil(() => problems.length === 1, { what: 'the loss' });
  expect(problems).toEqual([expect.stringContaining('trying again in 5000 ms')]);
  expect(heard).toEqual(['connected']);
});

test('a database that is not there yet is tried again until it is', async () => {
  const between = await proxy();
  await between.cut();
  const { heard, problems } = await listen(between.urlFor(database.url));
  await waitUntil(() => problems.length >= 2, { what: 'two vain tries' });
  expect(heard).toEqual([]);
  await between.resume();
  await waitUntil(() => heard.length === 1, { what: 'the connection' });
});

test('a server that is starting up is asked again soon, each time', async () => {
  const fields = 'SFATAL\0C57P03\0Mthe database system is starting up\0\0';
  const size = Buffer.alloc(4);
  size.writeInt32BE(fields.length + 4);
  const server = await rawServer((socket) => {
    socket.once('data', () =>
      socket.end(Buffer.concat([Buffer.from('E'), size, Buffer.from(fields)])),
    );
  });
  const { problems } = await listen(`postgres://ghost@127.0.0.1:${server.port}/ghost`);
  await waitUntil(() => problems.length >= 5, { what: 'five tries' });
  expect(problems.every((said) => said.endsWith('in 20 ms'))).toBe(true);
});

test('asked to check, it proves a connection that was silent, and makes a dead one anew', async () => {
  const between = await proxy();
  const { listener, heard } = await listen(between.urlFor(database.url));
  for (const connection of between.connections()) connection.blackHole();
  await waitUntil(
    async () => {
      await listener.check();
      return heard.length === 2;
    },
    { what: 'the new connection' },
  );
  await notify();
  await waitUntil(() => heard.includes('notified'), { what: 'the notification' });
});

test('asked to check while it waits to try again, it tries now', async () => {
  const between = await proxy();
  await between.cut();
  const { listener, heard, problems } = await listen(between.urlFor(database.url), {
    firstReconnectMs: 60_000,
  });
  expect(problems).toHaveLength(1);
  await between.resume();
  await listener.check();
  expect(heard).toEqual(['connected']);
});

test('told to reconnect again and again, it ends with one connection, another than before', async () => {
  const { listener, heard } = await listen(database.url);
  const before = await backends();
  expect(before).toHaveLength(1);
  for (let times = 0; times < 3; times += 1) listener.reconnect();
  await waitUntil(() => heard.length === 2, { what: 'the new connection' });
  const after = await waitUntil(
    async () => {
      const now = await backends();
      return now.length === 1 && now;
    },
    { what: 'the others to end' },
  );
  expect(after).not.toEqual(before);
  await notify();
  await waitUntil(() => heard.length === 3, { what: 'the notification' });
  expect(heard).toEqual(['connected', 'connected', 'notified']);
});

test('stopped while it connects, it is stopped', async () => {
  const between = await proxy();
  between.blackHole();
  const listener = new Listener({
    connectionString: between.urlFor(database.url),
    channels: ['ghost_outbox'],
    name: 'listener under test',
    heartbeatMs: 60_000,
    onWake: () => expect.unreachable(),
    onProblem: () => expect.unreachable(),
  });
  const started = listener.start();
  await waitUntil(() => between.connections().length === 1, { what: 'the connection' });
  await listener.stop();
  await started;
  expect(listener.connected).toBe(false);
});

test('after stop nothing is heard and nothing reconnects', async () => {
  const { listener, heard, problems } = await listen(database.url);
  await listener.stop();
  await notify();
  expect(await backends()).toEqual([]);
  expect(heard).toEqual(['connected']);
  expect(problems).toEqual([]);
});
