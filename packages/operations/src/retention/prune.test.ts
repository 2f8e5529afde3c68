import { randomUUID } from 'node:crypto';

import type { Pool } from '@ghost/db';
import { createPostgresQueue, hookLane, sqlOfPool } from '@ghost/queue';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { addJobs } from '../../../../test/support/load/add-jobs.js';
import { addOldAttempts, addOldEvents, countRows } from '../../../../test/support/old-rows.js';
import { proveLanes } from '../../../../test/support/prove-lanes.js';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/test-database.js';
import { waitUntil } from '../../../../test/support/wait-until.js';
import { retryOutbox } from '../outbox.js';
import { countPrunable } from './count-prunable.js';
import { prune, type PruneOptions } from './prune.js';

const DAYS = 30;
const NAME = 'prune test';
const NOTHING = {
  ...{ expired: 0, attemptDays: 0, attempts: 0 },
  ...{ jobs: 0, contents: 0, skips: 0, events: 0 },
};
const NO_ROWS = { events: 0, progress: 0, contents: 0, jobs: 0, skips: 0, attempts: 0 };

let database: TestDatabase;
let pool: Pool;

beforeEach(async () => {
  database = await createTestDatabase();
  pool = database.pool(4);
});
afterEach(() => database.drop());

const run = (more: Partial<PruneOptions> = {}) =>
  prune({ databaseUrl: database.url, name: NAME, days: DAYS, ...more });

describe('what is pruned', () => {
  test('old events go with their jobs, content, progress and skips; the young stay whole', async () => {
    await addOldEvents(pool, { events: 120, daysAgo: 31, jobs: 2, skips: 3 });
    await addOldEvents(pool, { events: 5, daysAgo: 40, jobs: 0 });
    const young = await addOldEvents(pool, { events: 7, daysAgo: 29, jobs: 2, skips: 1 });
    const expected = { ...NOTHING, jobs: 240, contents: 125, skips: 360, events: 125 };
    expect(await countPrunable(pool, DAYS)).toEqual(expected);
    expect(await run()).toEqual({ result: 'done', counts: expected, postponed: false });
    const left = { ...NO_ROWS, events: 7, progress: 14, contents: 7, jobs: 14, skips: 7 };
    expect(await countRows(pool)).toEqual(left);
    expect(await countRows(pool, young)).toEqual(left);
    expect(await countPrunable(pool, DAYS)).toEqual(NOTHING);
  });

  test('nothing of an event that a consumer has not ended goes, nor a pending job, however old', async () => {
    const unprocessed = await addOldEvents(pool, {
      events: 3,
      daysAgo: 400,
      processed: false,
      skips: 1,
    });
    const pending = await addOldEvents(pool, { events: 3, daysAgo: 400, status: 'pending' });
    const reopened = await addOldEvents(pool, { events: 2, daysAgo: 400 });
    await pool.query(
      `UPDATE outbox_progress SET done_at = NULL WHERE event_id = ANY ($1) AND consumer = 'notifier'`,
      [reopened],
    );
    const [unclosed, late, skewed] = await addOldEvents(pool, { events: 3, daysAgo: 400 });
    await pool.query(
      `UPDATE outbox_event SET
         processed_at = CASE id WHEN $1 THEN NULL WHEN $2 THEN now() - interval '29 days' ELSE processed_at END,
         created_at = CASE id WHEN $3 THEN now() - interval '29 days' ELSE created_at END
       WHERE id IN ($1, $2, $3)`,
      [unclosed, late, skewed],
    );
    const before = await countRows(pool);
    expect(await run()).toEqual({ result: 'done', counts: NOTHING, postponed: false });
    expect(await countRows(pool)).toEqual(before);
    expect(before).toMatchObject({ events: 11, jobs: 11, contents: 11, skips: 3 });
    expect(await countPrunable(pool, DAYS)).toEqual(NOTHING);
    expect(unprocessed.length + pending.length).toBe(6);
  });

  test('an event stays, with its content, until the last of its jobs is old too', async () => {
    const [eventId = ''] = await addOldEvents(pool, { events: 1, daysAgo: 400, jobs: 3 });
    const { rows } = await pool.query<{ id: string; lane: string }>(
      'SELECT id, lane FROM delivery_job WHERE event_id = $1 LIMIT 1',
      [eventId],
    );
    const jobId = rows[0]?.id ?? '';
    await proveLanes(pool, [rows[0]?.lane ?? '']);
    await createPostgresQueue({ pool }).redeliver(sqlOfPool(pool), [jobId]);
    expect(await countPrunable(pool, DAYS)).toEqual({ ...NOTHING, jobs: 2 });
    expect(await run()).toMatchObject({ counts: { jobs: 2, events: 0, contents: 0 } });
    await pool.query(
      `UPDATE delivery_job SET status = 'delivered', finished_at = now() - interval '29 days' WHERE id = $1`,
      [jobId],
    );
    expect(await run()).toMatchObject({ counts: NOTHING });
    expect(await countRows(pool)).toMatchObject({ events: 1, contents: 1, jobs: 1 });
    await expect(pool.query('DELETE FROM delivery_content')).rejects.toMatchObject({
      constraint: 'delivery_job_content_of_event',
    });
    await expect(pool.query('DELETE FROM outbox_event')).rejects.toMatchObject({ code: '23503' });
    // Its jobs are gone in part: nobody can have it fanned out again.
    expect(await retryOutbox(pool, eventId)).toMatchObject({ result: 'refused' });
    await pool.query(`UPDATE delivery_job SET finished_at = now() - interval '31 days'`);
    expect(await run()).toMatchObject({ counts: { jobs: 1, events: 1, contents: 1 } });
    expect(await countRows(pool)).toEqual(NO_ROWS);
  });

  test('an event with more jobs and skips than a step may take goes in several', async () => {
    await addOldEvents(pool, { events: 2, daysAgo: 31, jobs: 700, skips: 450 });
    let steps = 0;
    const pruned = await run({ onStep: () => (steps += 1) });
    expect(pruned).toMatchObject({ counts: { jobs: 1_400, skips: 900, events: 2, contents: 2 } });
    expect(steps).toBeGreaterThan(3);
    expect(await countRows(pool)).toEqual(NO_ROWS);
  });

  test('days of attempts are dropped once they are over for so long, others go row by row', async () => {
    await addOldAttempts(pool, { attempts: 5, daysAgo: 40, day: true });
    await addOldAttempts(pool, { attempts: 5, daysAgo: 31, day: true });
    await addOldAttempts(pool, { attempts: 5, daysAgo: 30, day: true });
    await addOldAttempts(pool, { attempts: 250, daysAgo: 35 });
    await addOldAttempts(pool, { attempts: 5, daysAgo: 3 });
    const expected = { ...NOTHING, attemptDays: 2, attempts: 250 };
    expect(await countPrunable(pool, DAYS)).toEqual(expected);
    expect(await run()).toEqual({ result: 'done', counts: expected, postponed: false });
    expect(await countRows(pool)).toMatchObject({ attempts: 10 });
  });

  test.each([0, 3_651, -1])('%s days are refused', async (days) => {
    await addOldEvents(pool, { events: 1, daysAgo: 4_000 });
    await expect(run({ days })).rejects.toThrow(`retention takes 1 to 3650 days, not ${days}`);
    expect(await countRows(pool)).toMatchObject({ events: 1 });
  });
});

describe('what is held past its time', () => {
  const WEEK = `interval '7 days'`;

  /** Jobs of hooks 1 and up, so many each; the ids by hook. */
  async function addHeld(hooks: number, each: number): Promise<void> {
    const ids = Array.from({ length: hooks * each }, (_, n) => 1 + Math.floor(n / each));
    await addJobs(pool, ids);
    for (let hook = 1; hook <= hooks; hook += 1) {
      await queue().hold(sqlOfPool(pool), hookLane(hook), 'paused');
    }
  }
  const queue = () => createPostgresQueue({ pool });
  const age = (where: string) =>
    pool.query(
      `UPDATE delivery_job SET run_at = run_at - ${WEEK}, expires_at = expires_at - ${WEEK} WHERE ${where}`,
    );
  const became = async () => {
    const { rows } = await pool.query<{ hook: number; status: string; jobs: number }>(
      `SELECT hook_id::int AS hook, status, count(*)::int AS jobs FROM delivery_job GROUP BY 1, 2 ORDER BY 1, 2`,
    );
    return rows.map(({ hook, status, jobs }) => `${hook} ${status} ${jobs}`);
  };

  test('ends, and is shown in the history of its hook; what is younger, or of a lane that is not held, stays', async () => {
    await addHeld(3, 250);
    await addJobs(pool, [9]);
    await queue().resume(sqlOfPool(pool), hookLane(2));
    await age('hook_id IN (1, 2, 9)');
    expect(await countPrunable(pool, DAYS)).toEqual({ ...NOTHING, expired: 250 });
    let steps = 0;
    const pruned = await run({ onStep: () => (steps += 1) });
    expect(pruned).toMatchObject({ counts: { ...NOTHING, expired: 250 } });
    expect(steps).toBeGreaterThan(3);
    expect(await became()).toEqual(['1 dead 250', '2 pending 250', '3 pending 250', '9 pending 1']);
    const { rows } = await pool.query<{ what: string; shown: number }>(
      `SELECT a.outcome || ' ' || a.reason AS what, count(*)::int AS shown
       FROM delivery_attempt a JOIN delivery_job j ON j.id = a.job_id AND j.lease_no = a.lease_no
       WHERE a.hook_id = 1 AND a.number IS NULL AND j.last_error = 'expired' GROUP BY 1`,
    );
    expect(rows).toEqual([{ what: 'dead expired', shown: 250 }]);
    expect(await run()).toMatchObject({ counts: NOTHING });
  });

  test('stays while a worker sends it, or where it waits for a later try', async () => {
    await addHeld(1, 2);
    await queue().resume(sqlOfPool(pool), hookLane(1));
    const { jobs } = await queue().claim({ kind: 'webhook', version: 1, jobs: 1, lanes: 1 });
    await queue().hold(sqlOfPool(pool), hookLane(1), 'gone');
    await age('true');
    expect(jobs).toHaveLength(1);
    expect(await run()).toMatchObject({ counts: { expired: 1 } });
    expect(await became()).toEqual(['1 dead 1', '1 pending 1']);
  });

  test('is walked lane by lane: one among many that hold nothing is found', async () => {
    await addHeld(1, 3);
    for (let hook = 1_000; hook < 1_150; hook += 1) {
      await queue().hold(sqlOfPool(pool), hookLane(hook), 'paused');
    }
    await age('true');
    expect(await run()).toMatchObject({ counts: { expired: 3 } });
  });
});

describe('beside others', () => {
  test('killed half-way it leaves whole steps, and the next run does the rest', async () => {
    await addOldEvents(pool, { events: 1_000, daysAgo: 31, jobs: 2 });
    let steps = 0;
    const killed = run({
      onStep: () => {
        steps += 1;
        if (steps !== 4) return;
        void pool.query(
          'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1',
          [NAME],
        );
      },
    });
    await expect(killed).rejects.toThrow();
    const left = await countRows(pool);
    expect(left.events).toBeGreaterThan(0);
    expect(left.events).toBeLessThan(1_000);
    expect(left.contents).toBe(left.events);
    // Of an event that is still there jobs may be gone, but only if no consumer can start it again.
    expect(left.progress).toBe(2 * left.events);
    const rest = await run();
    expect(rest).toMatchObject({ result: 'done', counts: { events: left.events } });
    expect(await countRows(pool)).toEqual(NO_ROWS);
  });

  test('stopped by its signal it ends after the step under way', async () => {
    await addOldEvents(pool, { events: 1_000, daysAgo: 31 });
    const stop = new AbortController();
    const stopped = await run({ signal: stop.signal, onStep: () => stop.abort() });
    expect(stopped).toMatchObject({ result: 'stopped' });
    const { events } = await countRows(pool);
    expect(events).toBeGreaterThan(0);
    expect(await run()).toMatchObject({ result: 'done', counts: { events } });
  });

  test('a second runner does nothing, until the first has ended', async () => {
    await addOldEvents(pool, { events: 2_000, daysAgo: 31 });
    let second: ReturnType<typeof run> | undefined;
    const first = await run({
      onStep: () => {
        second ??= run();
      },
    });
    expect(await second).toEqual({ result: 'busy' });
    expect(first).toMatchObject({ result: 'done', counts: { events: 2_000, jobs: 2_000 } });
    expect(await run()).toMatchObject({ result: 'done', counts: NOTHING });
  });

  test('steps of two that are open at once take each row once, and neither waits', async () => {
    await addOldEvents(pool, { events: 60, daysAgo: 31, jobs: 2, skips: 1 });
    const step = `SELECT events, jobs, skips FROM retention_step(30, '00000000-0000-0000-0000-000000000000', 40, 40)`;
    const [first, second] = await Promise.all([pool.connect(), pool.connect()]);
    try {
      await first.query('SET synchronous_commit = on');
      await first.query('BEGIN');
      await second.query('BEGIN');
      expect((await first.query(step)).rows[0]).toEqual({ events: 20, jobs: 40, skips: 40 });
      // Its commit does not wait for the disk.
      expect((await first.query('SHOW synchronous_commit')).rows).toEqual([
        { synchronous_commit: 'off' },
      ]);
      // What is not committed is there, and held: of the same events the second gets the other jobs.
      expect((await second.query(step)).rows[0]).toEqual({ events: 0, jobs: 40, skips: 0 });
      await first.query('COMMIT');
      await second.query('COMMIT');
    } finally {
      first.release(true);
      second.release(true);
    }
    expect(await run()).toMatchObject({ counts: { events: 40, jobs: 40, skips: 20 } });
    expect(await countRows(pool)).toEqual(NO_ROWS);
  });

  test('a job that somebody holds is left to the next run, and nobody is waited for', async () => {
    const [eventId = ''] = await addOldEvents(pool, { events: 1, daysAgo: 31, jobs: 2 });
    const holder = await pool.connect();
    try {
      await holder.query('BEGIN');
      await holder.query('SELECT FROM delivery_job WHERE event_id = $1 LIMIT 1 FOR UPDATE', [
        eventId,
      ]);
      expect(await run()).toMatchObject({ counts: { jobs: 1, events: 0, contents: 0 } });
      await holder.query('ROLLBACK');
    } finally {
      holder.release(true);
    }
    expect(await run()).toMatchObject({ counts: { jobs: 1, events: 1, contents: 1 } });
  });

  test('a day that somebody reads is dropped another time; settles wait a tenth of a second at most', async () => {
    await addOldAttempts(pool, { attempts: 5, daysAgo: 40, day: true });
    await addOldEvents(pool, { events: 1, daysAgo: 31 });
    const reader = await pool.connect();
    try {
      await reader.query('BEGIN');
      await reader.query('SELECT count(*) FROM delivery_attempt');
      expect(await run()).toEqual({
        result: 'done',
        counts: { ...NOTHING, jobs: 1, contents: 1, events: 1 },
        postponed: true,
      });
      await reader.query('COMMIT');
    } finally {
      reader.release(true);
    }
    expect(await run()).toMatchObject({ counts: { attemptDays: 1 }, postponed: false });
  });
});

describe('a role that owns no table', () => {
  const role = `ghost_pruner_${randomUUID().slice(0, 8)}`;
  const rights = [
    'SELECT, UPDATE, DELETE ON outbox_event, delivery_job, fanout_skip',
    'SELECT, DELETE ON delivery_content',
    'SELECT ON outbox_progress',
    'SELECT, UPDATE ON delivery_lane',
    'INSERT ON delivery_attempt',
  ];

  afterEach(async () => {
    await pool.query(`DROP OWNED BY ${role}`);
    await pool.query(`DROP ROLE ${role}`);
  });

  test('prunes with rights on the rows, and on the two functions that reach further', async () => {
    await addOldEvents(pool, { events: 3, daysAgo: 31, skips: 1 });
    await addOldAttempts(pool, { attempts: 5, daysAgo: 40, day: true });
    await addOldAttempts(pool, { attempts: 5, daysAgo: 35 });
    await pool.query(`CREATE ROLE ${role} LOGIN PASSWORD 'prune'`);
    for (const right of rights) await pool.query(`GRANT ${right} TO ${role}`);
    const url = new URL(database.url);
    url.username = role;
    url.password = 'prune';
    await expect(run({ databaseUrl: url.href })).rejects.toMatchObject({ code: '42501' });
    await pool.query(
      `GRANT EXECUTE ON FUNCTION retention_step_attempts(integer, bigint, integer), retention_drop_day(integer) TO ${role}`,
    );
    // The server takes a moment to notice that the failed one is gone.
    const pruned = await waitUntil(
      async () => {
        const end = await run({ databaseUrl: url.href });
        return end.result === 'busy' ? undefined : end;
      },
      { what: 'the lock of the failed one' },
    );
    expect(pruned).toMatchObject({
      counts: { attemptDays: 1, attempts: 5, jobs: 3, contents: 3, skips: 3, events: 3 },
    });
  });
});

test('while it runs its session is seen by name, and none is left behind', async () => {
  await addOldEvents(pool, { events: 200, daysAgo: 31 });
  await run();
  await waitUntil(
    async () => {
      const { rowCount } = await pool.query(
        'SELECT FROM pg_stat_activity WHERE application_name = $1',
        [NAME],
      );
      return rowCount === 0;
    },
    { what: 'the session to end' },
  );
});
