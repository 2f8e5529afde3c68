import { inTransaction, type Pool } from '@ghost/db';
import { createPostgresQueue, hookLane, type Queue, sqlOf, sqlOfPool } from '@ghost/queue';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import {
  createDeliverySeed,
  type DeliverySeed,
} from '../../../../../test/support/delivery-seed.js';
import { addEnded } from '../../../../../test/support/ended-deliveries.js';
import { CAPACITY, DEAD, DONE, FAILED, settleAll } from '../../../../../test/support/job-scene.js';
import {
  createTestDatabase,
  type TestDatabase,
} from '../../../../../test/support/test-database.js';
import { untilBlocked } from '../../../../../test/support/until-blocked.js';
import { retryJob } from '../../jobs.js';
import { pauseHook, resumeHook } from '../hook-hold.js';
import { cancelReplay } from './cancel-replay.js';
import { type Replay, readReplay } from './read-replays.js';
import { previewReplay, type ReplaySet, type ReplayWish } from './replay-set.js';
import { startReplay } from './start-replay.js';
import { openReplays, stepReplay } from './step-replay.js';

const DAYS = 30;

let database: TestDatabase;
let seed: DeliverySeed;
let pool: Pool;
let queue: Queue;
let hookId: number;
let otherId: number;

beforeEach(async () => {
  database = await createTestDatabase();
  pool = database.pool(4);
  seed = await createDeliverySeed(database.url);
  queue = createPostgresQueue({ pool });
  hookId = await seed.hook('https://receiver.example/');
  otherId = await seed.hook('https://other.example/');
});
afterEach(async () => {
  await seed.close();
  await database.drop();
});

const sql = () => sqlOfPool(pool);
const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000);
const wish = (which: ReplaySet = 'failed', more: Partial<ReplayWish> = {}): ReplayWish => ({
  ...{ which, since: ago(60) },
  ...more,
});
const preview = (asked = wish()) => previewReplay(sql(), hookId, asked, DAYS);
const at = (active = true) => ({
  hook: { id: hookId, active },
  repository: { id: 1, fullName: 'ghost/core' },
  actor: null,
});
const start = (asked: ReplayWish & { expectedTotal?: number } = wish()) =>
  inTransaction(pool, (tx) => startReplay(sqlOf(tx), at(), { ...asked, retentionDays: DAYS }));
const read = (id: number) => readReplay(sql(), id);
const cancel = (id: number) => inTransaction(pool, (tx) => cancelReplay(sqlOf(tx), at(), id));

/** The next step, whenever it would be due. */
async function step(id: number, woken = false) {
  await pool.query(
    `UPDATE hook_replay SET next_at = now() WHERE id = $1 AND next_at < 'infinity'`,
    [id],
  );
  return stepReplay(sql(), id, woken);
}

async function settleDue(outcome: typeof DONE | typeof DEAD | typeof FAILED, jobs = 100) {
  const claim = await queue.claim({ ...CAPACITY, kind: 'webhook', jobs });
  await settleAll(queue, claim, outcome);
  return claim.jobs;
}

/** Steps, and all that is claimed delivered, until it is over. */
async function runToEnd(id: number): Promise<Replay> {
  for (let round = 0; round < 200; round += 1) {
    await step(id);
    while ((await settleDue(DONE)).length > 0);
    const replay = await read(id);
    expectSum(replay);
    if (replay.endedAt !== null) return replay;
  }
  throw new Error('The replay came to no end');
}

function expectSum({ progress }: Replay): void {
  const { total, remaining, pending, delivered, failed, cancelled, skipped } = progress;
  expect(remaining).toBeGreaterThanOrEqual(0);
  expect(remaining + pending + delivered + failed + cancelled + skipped).toBe(total);
}

const statuses = async (ids: readonly string[]) => {
  const { rows } = await pool.query<{ status: string; jobs: number }>(
    'SELECT status, count(*)::int AS jobs FROM delivery_job WHERE id = ANY ($1) GROUP BY 1',
    [ids],
  );
  return Object.fromEntries(rows.map(({ status, jobs }) => [status, jobs]));
};

describe('the set of a replay', () => {
  test('is what ended in the time with one of the statuses, of this hook alone', async () => {
    await addEnded(pool, hookId, { deliveries: 3 });
    await addEnded(pool, hookId, { deliveries: 2, event: 'thread.closed' });
    await addEnded(pool, hookId, { deliveries: 4, status: 'cancelled' });
    await addEnded(pool, hookId, { deliveries: 5, status: 'delivered' });
    await addEnded(pool, hookId, { deliveries: 7, minutesAgo: 120 });
    await addEnded(pool, otherId, { deliveries: 11 });
    expect(await preview()).toMatchObject({
      ...{ total: 5, byStatus: { dead: 5 }, leftOut: {} },
      byEvent: { 'thread.opened': 3, 'thread.closed': 2 },
    });
    expect(await preview(wish('undelivered'))).toMatchObject({
      ...{ total: 9, byStatus: { dead: 5, cancelled: 4 } },
    });
    const all = await preview(wish('all', { since: ago(180) }));
    expect(all.byStatus).toEqual({ dead: 12, cancelled: 4, delivered: 5 });
    const before = await preview(wish('all', { since: ago(180), until: ago(60) }));
    expect(before).toMatchObject({ total: 7, until: before.until });
  });

  test('finds what delivery itself delivered, once, however often it was delivered', async () => {
    const [jobId = ''] = await seed.webhooks([hookId]);
    await settleDue(DONE);
    await retryJob(pool, queue, jobId);
    await settleDue(DONE);
    expect(await preview(wish('all'))).toMatchObject({ total: 1, byStatus: { delivered: 1 } });
    const id = await start(wish('all'));
    expect(await runToEnd(id)).toMatchObject({ progress: { total: 1, delivered: 1 } });
    const attempts = await seed.attempts();
    expect(attempts.map((attempt) => attempt.jobId)).toEqual([jobId, jobId, jobId]);
  });

  test('leaves out what tells of a deleted comment, and says so', async () => {
    await addEnded(pool, hookId, { deliveries: 2, event: 'comment.created', commentId: 404 });
    await addEnded(pool, hookId, { deliveries: 1, event: 'comment.deleted', commentId: 404 });
    expect(await preview()).toMatchObject({ total: 1, leftOut: { comment_deleted: 2 } });
    expect((await read(await start())).progress.total).toBe(1);
  });

  test.each([
    ['since_in_future', { since: ago(-1) }],
    ['since_too_old', { since: ago((DAYS + 2) * 24 * 60) }],
    ['until_in_future', { until: ago(-1) }],
    ['until_before_since', { since: ago(5), until: ago(6) }],
  ])('is refused as %s', async (problem, more) => {
    await expect(preview(wish('failed', more))).rejects.toMatchObject({ problem });
    await expect(start(wish('failed', more))).rejects.toMatchObject({ problem });
  });

  test('is fixed at the start: what fails later is not added', async () => {
    const ids = await addEnded(pool, hookId, { deliveries: 30 });
    const seen = await preview();
    const id = await start({ ...wish(), until: seen.until, expectedTotal: 30 });
    const later = await addEnded(pool, hookId, { deliveries: 5, minutesAgo: 20 });
    expect(await runToEnd(id)).toMatchObject({
      ...{ state: 'done', progress: { total: 30, delivered: 30, skipped: 0 } },
    });
    expect(await statuses(ids)).toEqual({ delivered: 30 });
    expect(await statuses(later)).toEqual({ dead: 5 });
  });

  test('that is another than the preview counted starts nothing', async () => {
    await addEnded(pool, hookId, { deliveries: 3 });
    await expect(start({ ...wish(), expectedTotal: 4 })).rejects.toMatchObject({
      problem: 'total_differs',
    });
    expect(await openReplays(sql())).toEqual([]);
    expect((await pool.query('SELECT FROM hook_replay_target')).rowCount).toBe(0);
  });

  test('that is empty is over at once', async () => {
    expect(await read(await start())).toMatchObject({ state: 'done', progress: { total: 0 } });
  });
});

describe('a replay', () => {
  test('makes pending only as many as the hook takes, the oldest first, and ends when all have', async () => {
    const ids = await addEnded(pool, hookId, { deliveries: 100 });
    const others = await addEnded(pool, otherId, { deliveries: 3 });
    const id = await start();
    expect(await step(id)).toMatchObject({ queued: 40, pending: 40, ended: false });
    expect(await statuses(ids.slice(0, 40))).toEqual({ pending: 40 });
    expect(await statuses(ids.slice(40))).toEqual({ dead: 60 });
    expect(await read(id)).toMatchObject({
      ...{ state: 'running', progress: { total: 100, remaining: 60, pending: 40, delivered: 0 } },
    });
    // Nothing was taken: fewer may wait.
    expect(await step(id)).toMatchObject({ queued: 0, pending: 40 });
    const jobs = await settleDue(DONE, 10);
    expect(jobs.every(({ redelivery, attempts }) => redelivery && attempts === 0)).toBe(true);
    // A look sees what no step has counted.
    expect((await read(id)).progress).toMatchObject({ pending: 30, delivered: 10 });
    expect(await runToEnd(id)).toMatchObject({ state: 'done', progress: { delivered: 100 } });
    expect(await statuses(others)).toEqual({ dead: 3 });
    expect((await pool.query('SELECT FROM hook_replay_target')).rowCount).toBe(0);
    expect(await openReplays(sql())).toEqual([]);
  });

  test.each([
    [1, 2],
    [60, 10],
    [6_000, 40],
  ])(
    'of a hook that takes %i a minute has %i pending, so that what is new comes soon',
    async (perMinute, pending) => {
      await addEnded(pool, hookId, { deliveries: 100 });
      await queue.limitRate(sql(), hookLane(hookId), perMinute);
      const id = await start();
      for (let taken = 0; taken < 3; taken += 1) await step(id);
      expect((await read(id)).progress).toMatchObject({ pending, remaining: 100 - pending });
      await queue.limitRate(sql(), hookLane(hookId), null);
      expect(await runToEnd(id)).toMatchObject({ progress: { delivered: 100 } });
    },
  );

  test('goes on beside deliveries that wait for their next attempt', async () => {
    await addEnded(pool, hookId, { deliveries: 60 });
    const id = await start();
    await step(id);
    while ((await settleDue(FAILED)).length > 0);
    expect(await step(id)).toMatchObject({ queued: 20, pending: 60 });
    expect(await read(id)).toMatchObject({ state: 'finishing', progress: { remaining: 0 } });
  });

  test('counts what is given up or cancelled again', async () => {
    const ids = await addEnded(pool, hookId, { deliveries: 3 });
    const id = await start();
    await step(id);
    await settleDue(DEAD, 1);
    await queue.cancel(sql(), { jobIds: ids.slice(1, 2) }, 'discarded');
    await settleDue(DONE);
    const counts = { delivered: 1, failed: 1, cancelled: 1, pending: 0 };
    expect(await read(id)).toMatchObject({ state: 'done', endedAt: null, progress: counts });
    expect(await step(id)).toMatchObject({ delivered: 1, dead: 1, cancelled: 1, ended: true });
    // A later redelivery by hand is none of its business.
    await retryJob(pool, queue, ids[0] ?? '');
    expect(await read(id)).toMatchObject({ state: 'done', progress: counts });
  });

  test.each(['by hand', 'by the next replay'])(
    'stays as it was when %s its deliveries are sent again',
    async (how) => {
      const [jobId = ''] = await addEnded(pool, hookId, { deliveries: 3 });
      const id = await start();
      await step(id);
      while ((await settleDue(DEAD)).length > 0);
      const before = await read(id);
      expect(before).toMatchObject({ state: 'done', endedAt: null, progress: { failed: 3 } });
      if (how === 'by hand') await retryJob(pool, queue, jobId);
      else await step(await start());
      expect(await statuses([jobId])).toEqual({ pending: 1 });
      expect(await read(id)).toEqual(before);
      await step(id);
      expect(await read(id)).toMatchObject({ state: 'done', progress: before.progress });
    },
  );

  test('skips what was sent again meanwhile, waits, was pruned or lost its comment', async () => {
    const [pending = '', sent = '', pruned = '', kept = ''] = await addEnded(pool, hookId, {
      deliveries: 4,
    });
    const { rows } = await pool.query<{ id: string }>(
      `WITH t AS (INSERT INTO thread (repository_id, number, author_id, title, body) VALUES (1, 1, 1, 't', '') RETURNING id)
       INSERT INTO comment (thread_id, number, author_id, body) SELECT id, 1, 1, 'c' FROM t RETURNING id`,
    );
    const commentId = Number(rows[0]?.id);
    await addEnded(pool, hookId, { deliveries: 1, event: 'comment.created', commentId });
    const id = await start();
    expect((await read(id)).progress.total).toBe(5);
    await retryJob(pool, queue, sent);
    await settleDue(DEAD);
    await retryJob(pool, queue, pending);
    await pool.query('DELETE FROM delivery_job WHERE id = $1', [pruned]);
    await pool.query('DELETE FROM comment');
    expect(await step(id)).toMatchObject({ queued: 1, skipped: 4 });
    expect(await statuses([kept, pending, sent])).toEqual({ pending: 2, dead: 1 });
    const skippedBy = { pending: 1, sent_meanwhile: 1, pruned: 1, comment_deleted: 1 };
    expect(await runToEnd(id)).toMatchObject({
      ...{ state: 'done', progress: { total: 5, delivered: 1, skipped: 4, skippedBy } },
    });
  });

  test('waits without a timer while its hook is held, and goes on when it is resumed', async () => {
    await addEnded(pool, hookId, { deliveries: 3 });
    const id = await start();
    await inTransaction(pool, (tx) => pauseHook(sqlOf(tx), queue, hookId));
    expect(await step(id)).toMatchObject({ queued: 0 });
    expect(await openReplays(sql())).toEqual([{ id, inMs: null }]);
    expect(await step(id)).toBeNull();
    expect(await read(id)).toMatchObject({
      ...{ state: 'waiting', waitsFor: { hold: { code: 'paused' } }, progress: { remaining: 3 } },
    });
    await inTransaction(pool, (tx) => resumeHook(sqlOf(tx), queue, hookId, 'account'));
    expect(await step(id, true)).toMatchObject({ queued: 3 });
  });

  test('waits while its hook is inactive; cannot start then', async () => {
    await addEnded(pool, hookId, { deliveries: 3 });
    const id = await start();
    await pool.query('UPDATE hook SET active = false WHERE id = $1', [hookId]);
    expect(await step(id)).toMatchObject({ queued: 0 });
    expect(await read(id)).toMatchObject({ state: 'waiting', waitsFor: 'inactive' });
    expect(await openReplays(sql())).toEqual([{ id, inMs: null }]);
    await pool.query('UPDATE hook SET active = true WHERE id = $1', [hookId]);
    expect(await step(id, true)).toMatchObject({ queued: 3 });
    const inactive = inTransaction(pool, (tx) =>
      startReplay(sqlOf(tx), at(false), { ...wish(), retentionDays: DAYS }),
    );
    await expect(inactive).rejects.toMatchObject({ problem: 'hook_inactive' });
  });

  test('that is cancelled makes nothing more pending, and counts what is', async () => {
    const ids = await addEnded(pool, hookId, { deliveries: 100 });
    const id = await start();
    await step(id);
    await cancel(id);
    await cancel(id);
    await step(id);
    expect(await read(id)).toMatchObject({
      ...{ state: 'cancelled', endedAt: null, progress: { remaining: 60, pending: 40 } },
    });
    expect(await runToEnd(id)).toMatchObject({
      ...{ state: 'cancelled', progress: { remaining: 60, delivered: 40 } },
    });
    expect(await statuses(ids)).toEqual({ delivered: 40, dead: 60 });
    expect((await pool.query('SELECT FROM hook_replay_target')).rowCount).toBe(0);
  });

  test('that is cancelled while its hook is held leaves nothing behind, however much it was', async () => {
    await addEnded(pool, hookId, { deliveries: 1 });
    const id = await start();
    await pool.query('UPDATE hook_replay SET total = 15001');
    await pool.query(
      `INSERT INTO hook_replay_target (replay_id, seq, job_id, lease_no)
       SELECT $1, n, gen_random_uuid(), 1 FROM generate_series(2, 15001) n`,
      [id],
    );
    await inTransaction(pool, (tx) => pauseHook(sqlOf(tx), queue, hookId));
    await cancel(id);
    expect(await step(id)).toMatchObject({ ended: false });
    expect((await openReplays(sql()))[0]?.inMs).toBe(0);
    expect(await step(id)).toMatchObject({ ended: true });
    expect((await pool.query('SELECT FROM hook_replay_target')).rowCount).toBe(0);
    expect((await read(id)).progress.remaining).toBe(15_001);
  });

  test('cannot be cancelled when all of it was made pending', async () => {
    await addEnded(pool, hookId, { deliveries: 1 });
    const id = await start();
    await step(id);
    await expect(cancel(id)).rejects.toMatchObject({ problem: 'nothing_left_to_cancel' });
    await expect(cancel(id + 1)).rejects.toMatchObject({ problem: 'unknown_replay' });
  });

  test('ends with its hook', async () => {
    await addEnded(pool, hookId, { deliveries: 100 });
    const id = await start();
    await step(id);
    await pool.query('DELETE FROM hook WHERE id = $1', [hookId]);
    expect(await read(id)).toMatchObject({ hookId: null, state: 'cancelled' });
    await queue.cancelLater(sql(), [{ hookId }], 'hook_deleted');
    expect(await queue.cancelSome(sql(), 100)).toMatchObject({ cancelled: 40 });
    expect(await step(id)).toMatchObject({ cancelled: 40, ended: true });
    expect(await read(id)).toMatchObject({ progress: { remaining: 60, cancelled: 40 } });
    expect((await pool.query('SELECT FROM hook_replay_target')).rowCount).toBe(0);
  });

  test('is the only one of its hook until it is through', async () => {
    await addEnded(pool, hookId, { deliveries: 1 });
    const id = await start();
    await expect(start()).rejects.toMatchObject({
      problem: 'already_replaying',
      message: expect.stringContaining(`Replay ${id} `) as unknown,
    });
    await step(id);
    expect(await read(await start())).toMatchObject({ progress: { total: 0 } });
  });
});

describe('two runners', () => {
  test('take one step at a time, and no step before it is due', async () => {
    await addEnded(pool, hookId, { deliveries: 100 });
    const id = await start();
    const steps = await Promise.all([1, 2, 3].map(() => stepReplay(sql(), id, true)));
    expect(steps.filter((one) => one !== null)).toHaveLength(1);
    expect(await stepReplay(sql(), id, true)).toBeNull();
    expect((await read(id)).progress.pending).toBe(40);
  });

  test('a step that breaks off changes nothing, and the next one does all of it', async () => {
    const ids = await addEnded(pool, hookId, { deliveries: 10 });
    const id = await start();
    const client = await pool.connect();
    try {
      await client.query('BEGIN');
      await client.query('SELECT * FROM hook_replay_step($1, false, 20, 500, 500, 60000)', [id]);
    } finally {
      // As a process that dies: the server rolls it back.
      client.release(true);
    }
    expect(await statuses(ids)).toEqual({ dead: 10 });
    expect(await runToEnd(id)).toMatchObject({ state: 'done', progress: { delivered: 10 } });
    expect((await seed.attempts()).filter(({ outcome }) => outcome === 'delivered')).toHaveLength(
      10,
    );
  });

  test('a redelivery by hand at the same moment is not doubled', async () => {
    const [jobId = ''] = await addEnded(pool, hookId, { deliveries: 1 });
    const id = await start();
    const byHand = await pool.connect();
    try {
      await byHand.query('BEGIN');
      await byHand.query('SELECT delivery_redeliver($1)', [[jobId]]);
      const stepping = step(id);
      await untilBlocked(pool, 'the step to wait for the lane');
      await byHand.query('COMMIT');
      expect(await stepping).toMatchObject({ queued: 0, skipped: 1 });
    } finally {
      byHand.release();
    }
    expect((await read(id)).progress.skippedBy).toEqual({ pending: 1 });
  });
});
