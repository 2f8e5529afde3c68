import { inTransaction, type Pool } from '@ghost/db';
import { createPostgresQueue, type Queue, sqlOf } from '@ghost/queue';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';

import { addJobs } from '../../../../test/support/load/add-jobs.js';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/test-database.js';
import { waitUntil } from '../../../../test/support/wait-until.js';
import type { BackgroundRun } from '../background-run.js';
import { CancellingService } from './cancelling.service.js';

const MINUTE_MS = 60_000;

let database: TestDatabase;
let pool: Pool;
let queue: Queue;
let now = 0;
let lines: Record<string, unknown>[];
let started: CancellingService[];

beforeEach(async () => {
  database = await createTestDatabase();
  pool = database.pool();
  queue = createPostgresQueue({ pool });
  lines = [];
  started = [];
  now = 0;
});
afterEach(async () => {
  for (const service of started) await service.onApplicationShutdown();
  await database.drop();
});

/** Its log is told of, and the clock of the process is the test's. */
function service(listenUrl = database.url): CancellingService {
  const write = (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>);
  const made = new CancellingService({
    ...{ pool, queue, connection: { listenUrl }, now: () => now },
    logger: pino({ level: 'debug' }, { write }),
  });
  started.push(made);
  return made;
}

async function deleteHook(hookId: number, jobs = 1): Promise<void> {
  await addJobs(
    pool,
    Array.from({ length: jobs }, () => hookId),
  );
  await inTransaction(pool, (tx) => queue.cancelLater(sqlOf(tx), [{ hookId }], 'hook_deleted'));
}

const logged = (count: number) =>
  waitUntil(() => lines.length === count, { what: `line ${count} of the log` });
const isUnderWay = (one: CancellingService) =>
  (Reflect.get(one, 'run') as BackgroundRun).isUnderWay;
const idle = (one: CancellingService) =>
  waitUntil(() => !isUnderWay(one), { what: 'the run to end' });
const timerOf = (one: CancellingService): unknown => Reflect.get(one, 'again');

test('a start finds what a process that died has left; with nothing left there is no line and no timer', async () => {
  await deleteHook(7, 3);
  const one = service();
  one.onApplicationBootstrap();
  await logged(1);
  expect(lines[0]).toMatchObject({
    event: 'cancelling.ended',
    jobs: 3,
    targets: 1,
    result: 'done',
  });
  await idle(one);
  one.wake();
  await idle(one);
  expect(lines).toHaveLength(1);
  expect(timerOf(one)).toBeUndefined();
});

test('what is deleted while a run is under way is seen to by the next', async () => {
  const one = service();
  await deleteHook(7, 1_000);
  one.wake();
  await waitUntil(
    async () => {
      const { rows } = await pool.query(
        `SELECT FROM delivery_job WHERE status = 'cancelled' LIMIT 1`,
      );
      return rows.length > 0;
    },
    { what: 'a step' },
  );
  await deleteHook(8);
  one.wake();
  await waitUntil(
    async () => (await pool.query('SELECT FROM delivery_cancellation')).rows.length === 0,
    { what: 'both to be done with' },
  );
});

test('a process that only fans out looks once a minute', async () => {
  const one = service();
  one.onApplicationBootstrap();
  await idle(one);
  await deleteHook(7);
  now = MINUTE_MS - 1;
  one.worked();
  expect(isUnderWay(one)).toBe(false);
  now = MINUTE_MS;
  one.worked();
  await logged(1);
  expect(lines[0]).toMatchObject({ event: 'cancelling.ended', jobs: 1 });
});

test('beside another runner, and after a failure, it tries again later; a stop ends that', async () => {
  await deleteHook(7);
  const other = await pool.connect();
  const one = service();
  try {
    await other.query(`SELECT pg_advisory_lock(hashtextextended('ghost_cancellations', 0))`);
    one.wake();
    await waitUntil(() => timerOf(one) !== undefined, { what: 'the next try' });
    expect(lines).toEqual([]);
  } finally {
    other.release(true);
  }
  const failing = service('postgres://nobody@127.0.0.1:1/none');
  failing.wake();
  await logged(1);
  expect(lines[0]).toMatchObject({ event: 'cancelling.failed', level: 40 });
  expect(timerOf(failing)).toBeDefined();
  await failing.onApplicationShutdown();
  failing.wake();
  expect(isUnderWay(failing)).toBe(false);
});

test('a stop ends the run after the step under way', async () => {
  await deleteHook(7, 2_000);
  const one = service();
  one.wake();
  await waitUntil(
    async () => {
      const { rows } = await pool.query(
        `SELECT FROM delivery_job WHERE status = 'cancelled' LIMIT 1`,
      );
      return rows.length > 0;
    },
    { what: 'a step' },
  );
  await one.onApplicationShutdown();
  expect(lines[0]).toMatchObject({ event: 'cancelling.ended', result: 'stopped', targets: 0 });
});
