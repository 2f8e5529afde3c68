import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';

import { untilTestEnds } from '../../../test/support/servers-of-a-test.js';
import { startTcpProxy } from '../../../test/support/tcp-proxy.js';
import { createTestDatabase, type TestDatabase } from '../../../test/support/test-database.js';
import { waitUntil } from '../../../test/support/wait-until.js';
import { databaseErrorCode, isDatabaseOutage } from './database-error.js';
import { inTransaction } from './in-transaction.js';
import { createPool, dropConnections, type Pool } from './pool.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

function makePool(more: { url?: string; answerWithinMs?: number | null } = {}) {
  const { url = database.url, ...options } = more;
  const problems: Error[] = [];
  const pool = createPool({
    connectionString: url,
    name: 'pool under test',
    max: 2,
    onError: (error) => problems.push(error),
    ...options,
  });
  onTestFinished(() => pool.end());
  return { pool, problems };
}

const backendOf = async (pool: Pool) =>
  (await pool.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0]?.pid;
const failureOf = (work: Promise<unknown>) =>
  work.then(
    () => expect.unreachable(),
    (error: unknown) => error,
  );

test('a statement that gets no answer fails as an outage, and its connection is not used again', async () => {
  const { port } = new URL(database.url);
  const proxy = untilTestEnds(await startTcpProxy({ targetPort: Number(port) }));
  const { pool } = makePool({ url: proxy.urlFor(database.url), answerWithinMs: 300 });
  const before = await backendOf(pool);
  const [held] = proxy.connections();
  held?.blackHole();
  expect(isDatabaseOutage(await failureOf(pool.query('SELECT 1')))).toBe(true);
  expect(await backendOf(pool)).not.toBe(before);
  held?.resume();
  await waitUntil(() => proxy.connections().length === 1, { what: 'the first one to close' });
});

test('of a transaction too, whose pool keeps its connections', async () => {
  const { port } = new URL(database.url);
  const proxy = untilTestEnds(await startTcpProxy({ targetPort: Number(port) }));
  const { pool } = makePool({ url: proxy.urlFor(database.url), answerWithinMs: 300 });
  const failure = await failureOf(
    inTransaction(pool, async (tx) => {
      await tx.execute('SELECT 1');
      for (const connection of proxy.connections()) connection.blackHole();
      await tx.execute('SELECT 2');
    }),
  );
  expect(isDatabaseOutage(failure)).toBe(true);
  await Promise.all([backendOf(pool), backendOf(pool), backendOf(pool)]);
});

test('a server that answers ends a long statement itself, which is no outage', async () => {
  const { pool } = makePool({ answerWithinMs: 2_000 });
  const failure = await failureOf(pool.query('SELECT pg_sleep(10)'));
  expect(databaseErrorCode(failure)).toBe('57014');
  expect(isDatabaseOutage(failure)).toBe(false);
});

test('where a person waits nothing is cut', async () => {
  const { pool } = makePool({ answerWithinMs: null });
  const { rows } = await pool.query('SHOW statement_timeout');
  expect(rows).toEqual([{ statement_timeout: '0' }]);
});

test('after a clock gap all connections are made anew, and what is under way fails as an outage', async () => {
  const { pool, problems } = makePool();
  const before = await Promise.all([backendOf(pool), backendOf(pool)]);
  const underWay = failureOf(pool.query('SELECT pg_sleep(10)'));
  await waitUntil(() => pool.idleCount === 1, { what: 'the statement to have a connection' });
  expect(dropConnections(pool)).toBe(2);
  expect(isDatabaseOutage(await underWay)).toBe(true);
  const after = await Promise.all([backendOf(pool), backendOf(pool)]);
  for (const pid of after) expect(before).not.toContain(pid);
  expect(problems).toHaveLength(1);
  expect(dropConnections(pool)).toBe(2);
  expect(dropConnections(pool)).toBe(0);
});
