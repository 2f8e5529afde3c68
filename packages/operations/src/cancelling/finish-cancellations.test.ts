import { inTransaction, type Pool } from '@ghost/db';
import { createPostgresQueue, hookLane, type Queue, sqlOf, sqlOfPool } from '@ghost/queue';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { addJobs } from '../../../../test/support/load/add-jobs.js';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/test-database.js';
import {
  areCancellationsLeft,
  type CancellationsOptions,
  finishCancellations,
} from './finish-cancellations.js';

const NAME = 'cancelling test';
const HOOK = 7;
const OTHER = 8;
const JOBS = 1_500;

let database: TestDatabase;
let pool: Pool;
let queue: Queue;

beforeEach(async () => {
  database = await createTestDatabase();
  pool = database.pool(4);
  queue = createPostgresQueue({ pool });
});
afterEach(() => database.drop());

const run = (more: Partial<CancellationsOptions> = {}) =>
  finishCancellations({ queue, databaseUrl: database.url, name: NAME, ...more });

function deleteHooks(...hookIds: number[]): Promise<void> {
  const targets = hookIds.map((hookId) => ({ hookId }));
  return inTransaction(pool, (tx) => queue.cancelLater(sqlOf(tx), targets, 'hook_deleted'));
}

async function addMany(hookId: number): Promise<void> {
  await addJobs(
    pool,
    Array.from({ length: JOBS }, () => hookId),
  );
}

async function jobs(): Promise<Record<string, number>> {
  const { rows } = await pool.query<{ what: string; jobs: number }>(
    `SELECT hook_id || ' ' || status || coalesce(' ' || last_error, '') AS what, count(*)::int AS jobs
     FROM delivery_job GROUP BY 1`,
  );
  return Object.fromEntries(rows.map((row) => [row.what, row.jobs]));
}

async function lanes(): Promise<string[]> {
  const { rows } = await pool.query<{ lane: string }>(
    'SELECT lane FROM delivery_lane UNION SELECT lane FROM delivery_lane_key ORDER BY lane',
  );
  return rows.map((row) => row.lane);
}

describe('what is left of a deleted hook', () => {
  beforeEach(async () => {
    await addMany(HOOK);
    await addJobs(pool, [OTHER]);
    await deleteHooks(HOOK);
  });

  test('is cancelled in steps, and its lane goes; other hooks keep theirs', async () => {
    expect(await areCancellationsLeft(sqlOfPool(pool))).toBe(true);
    let steps = 0;
    const counts = { jobs: JOBS, targets: 1 };
    expect(await run({ onStep: () => (steps += 1) })).toEqual({ result: 'done', counts });
    expect(steps).toBeGreaterThan(3);
    expect(await jobs()).toEqual({ '7 cancelled hook_deleted': JOBS, '8 pending': 1 });
    expect(await lanes()).toEqual([hookLane(OTHER)]);
    expect(await areCancellationsLeft(sqlOfPool(pool))).toBe(false);
  });

  test('is left in whole steps by a runner that is killed, and the next does the rest', async () => {
    let steps = 0;
    const killed = run({
      onStep: () => {
        steps += 1;
        if (steps !== 2) return;
        void pool.query(
          'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1',
          [NAME],
        );
      },
    });
    await expect(killed).rejects.toThrow();
    const { '7 pending': left = 0, '7 cancelled hook_deleted': gone = 0 } = await jobs();
    expect(left + gone).toBe(JOBS);
    expect(Math.min(left, gone)).toBeGreaterThan(0);
    expect(await lanes()).toEqual([hookLane(HOOK), hookLane(OTHER)]);
    expect(await run()).toEqual({ result: 'done', counts: { jobs: left, targets: 1 } });
    expect(await jobs()).toEqual({ '7 cancelled hook_deleted': JOBS, '8 pending': 1 });
  });

  test('is done by one runner at a time; stopped by its signal it ends after a step', async () => {
    const stop = new AbortController();
    let second: ReturnType<typeof run> | undefined;
    const first = await run({
      signal: stop.signal,
      onStep: ({ jobs: cancelled }) => {
        second ??= run();
        if (cancelled > 200) stop.abort();
      },
    });
    expect(first).toMatchObject({ result: 'stopped' });
    expect(await second).toEqual({ result: 'busy' });
    expect((await jobs())['7 pending']).toBeGreaterThan(0);
    expect(await run()).toMatchObject({ result: 'done', counts: { targets: 1 } });
  });

  test('of several hooks each goes, whatever of them is in a worker’s hand', async () => {
    const claim = await queue.claim({ kind: 'webhook', version: 1, jobs: 10, lanes: 10 });
    expect(claim.jobs.map((job) => job.lane)).toEqual([hookLane(OTHER)]);
    await addMany(OTHER);
    await deleteHooks(OTHER);
    const running = run();
    // Its worker is heard of while the run waits for it.
    const [held] = claim.jobs;
    if (held === undefined) throw new Error('nothing claimed');
    const settled = await queue.settle([
      { ...held, outcome: 'delivered', reason: null, charged: true, delayMs: 0, attempt: null },
    ]);
    expect(settled).toHaveLength(1);
    expect(await running).toEqual({ result: 'done', counts: { jobs: 2 * JOBS, targets: 2 } });
    expect(await jobs()).toEqual({
      '7 cancelled hook_deleted': JOBS,
      '8 cancelled hook_deleted': JOBS,
      '8 delivered': 1,
    });
    expect(await lanes()).toEqual([]);
  });
});

test('of a hook that nothing was ever sent to, nothing is left', async () => {
  await deleteHooks(HOOK);
  expect(await areCancellationsLeft(sqlOfPool(pool))).toBe(false);
  expect(await run()).toEqual({ result: 'done', counts: { jobs: 0, targets: 0 } });
});
