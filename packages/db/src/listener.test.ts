import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';

import { startTcpProxy } from '../../../test/support/tcp-proxy.js';
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

async function listen(connectionString: string, heartbeatMs = 60_000) {
  const heard: string[] = [];
  const problems: string[] = [];
  const listener = new Listener({
    connectionString,
    channel: 'ghost_outbox',
    name: 'listener under test',
    heartbeatMs,
    heartbeatTimeoutMs: 200,
    firstReconnectMs: 20,
    onWake: (why) => heard.push(why),
    onProblem: (message) => problems.push(message),
  });
  await listener.start();
  onTestFinished(() => listener.stop());
  return { listener, heard, problems };
}

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

test('a half-open connection is found by the heartbeat', async () => {
  const proxy = await startTcpProxy({ targetPort: Number(new URL(database.url).port) });
  onTestFinished(() => proxy.stop());
  const { heard, problems } = await listen(proxy.urlFor(database.url), 50);
  expect(heard).toEqual(['connected']);
  proxy.blackHole();
  await waitUntil(() => problems.length > 0, { what: 'the heartbeat to miss its answer' });
  await proxy.resume();
  await waitUntil(() => heard.length === 2, { what: 'the new connection' });
  await notify();
  await waitUntil(() => heard.includes('notified'), { what: 'the notification' });
});

test('a database that is not there yet is tried again until it is', async () => {
  const proxy = await startTcpProxy({ targetPort: Number(new URL(database.url).port) });
  onTestFinished(() => proxy.stop());
  await proxy.cut();
  const { heard, problems } = await listen(proxy.urlFor(database.url));
  await waitUntil(() => problems.length >= 2, { what: 'two vain tries' });
  expect(heard).toEqual([]);
  await proxy.resume();
  await waitUntil(() => heard.length === 1, { what: 'the connection' });
});

test('after stop nothing is heard and nothing reconnects', async () => {
  const { listener, heard, problems } = await listen(database.url);
  await listener.stop();
  await notify();
  const { rows } = await pool.query(
    `SELECT FROM pg_stat_activity WHERE application_name = 'listener under test listener'`,
  );
  expect(rows).toEqual([]);
  expect(heard).toEqual(['connected']);
  expect(problems).toEqual([]);
});
