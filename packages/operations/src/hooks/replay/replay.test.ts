import { inTransaction } from '@ghost/db';
import { hookLane, sqlOf } from '@ghost/queue';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { DEAD, DONE, FAILED } from '../../../../../test/support/job-scene.js';
import { ReplayScene, replayWish } from '../../../../../test/support/replay-scene.js';
import { untilBlocked } from '../../../../../test/support/until-blocked.js';
import { retryJob } from '../../jobs.js';
import { pauseHook, resumeHook } from '../hook-hold.js';
import { openReplays, stepReplay } from './step-replay.js';

let scene: ReplayScene;

beforeEach(async () => {
  scene = await ReplayScene.create();
});
afterEach(() => scene.stop());

describe('a replay', () => {
  test('makes pending only as many as the hook takes, the oldest first, and ends when all have', async () => {
    const ids = await scene.addEnded({ deliveries: 100 });
    const others = await scene.addEnded({ deliveries: 3 }, scene.otherId);
    const id = await scene.start();
    expect(await scene.step(id)).toMatchObject({ queued: 40, pending: 40, ended: false });
    expect(await scene.statuses(ids.slice(0, 40))).toEqual({ pending: 40 });
    expect(await scene.statuses(ids.slice(40))).toEqual({ dead: 60 });
    expect(await scene.read(id)).toMatchObject({
      ...{ state: 'running', progress: { total: 100, remaining: 60, pending: 40, delivered: 0 } },
    });
    // Nothing was taken: fewer may wait.
    expect(await scene.step(id)).toMatchObject({ queued: 0, pending: 40 });
    const jobs = await scene.settleDue(DONE, 10);
    expect(jobs.every(({ redelivery, attempts }) => redelivery && attempts === 0)).toBe(true);
    // A look sees what no step has counted.
    expect((await scene.read(id)).progress).toMatchObject({ pending: 30, delivered: 10 });
    expect(await scene.runToEnd(id)).toMatchObject({ state: 'done', progress: { delivered: 100 } });
    expect(await scene.statuses(others)).toEqual({ dead: 3 });
    expect((await scene.pool.query('SELECT FROM hook_replay_target')).rowCount).toBe(0);
    expect(await openReplays(scene.sql)).toEqual([]);
  });

  test.each([
    [1, 2],
    [60, 10],
    [6_000, 40],
  ])(
    'of a hook that takes %i a minute has %i pending, so that what is new comes soon',
    async (perMinute, pending) => {
      await scene.addEnded({ deliveries: 100 });
      await scene.queue.limitRate(scene.sql, hookLane(scene.hookId), perMinute);
      const id = await scene.start();
      for (let taken = 0; taken < 3; taken += 1) await scene.step(id);
      expect((await scene.read(id)).progress).toMatchObject({ pending, remaining: 100 - pending });
      await scene.queue.limitRate(scene.sql, hookLane(scene.hookId), null);
      expect(await scene.runToEnd(id)).toMatchObject({ progress: { delivered: 100 } });
    },
  );

  test('goes on beside deliveries that wait for their next attempt', async () => {
    await scene.addEnded({ deliveries: 60 });
    const id = await scene.start();
    await scene.step(id);
    while ((await scene.settleDue(FAILED)).length > 0);
    expect(await scene.step(id)).toMatchObject({ queued: 20, pending: 60 });
    expect(await scene.read(id)).toMatchObject({ state: 'finishing', progress: { remaining: 0 } });
  });

  test('counts what is given up or cancelled again', async () => {
    const ids = await scene.addEnded({ deliveries: 3 });
    const id = await scene.start();
    await scene.step(id);
    await scene.settleDue(DEAD, 1);
    await scene.queue.cancel(scene.sql, { jobIds: ids.slice(1, 2) }, 'discarded');
    await scene.settleDue(DONE);
    const counts = { delivered: 1, failed: 1, cancelled: 1, pending: 0 };
    expect(await scene.read(id)).toMatchObject({ state: 'done', endedAt: null, progress: counts });
    expect(await scene.step(id)).toMatchObject({
      delivered: 1,
      dead: 1,
      cancelled: 1,
      ended: true,
    });
    // A later redelivery by hand is none of its business.
    await retryJob(scene.pool, scene.queue, ids[0] ?? '');
    expect(await scene.read(id)).toMatchObject({ state: 'done', progress: counts });
  });

  test.each(['by hand', 'by the next replay'])(
    'stays as it was when %s its deliveries are sent again',
    async (how) => {
      const [jobId = ''] = await scene.addEnded({ deliveries: 3 });
      const id = await scene.start();
      await scene.step(id);
      while ((await scene.settleDue(DEAD)).length > 0);
      const before = await scene.read(id);
      expect(before).toMatchObject({ state: 'done', endedAt: null, progress: { failed: 3 } });
      if (how === 'by hand') await retryJob(scene.pool, scene.queue, jobId);
      else await scene.step(await scene.start());
      expect(await scene.statuses([jobId])).toEqual({ pending: 1 });
      expect(await scene.read(id)).toEqual(before);
      await scene.step(id);
      expect(await scene.read(id)).toMatchObject({ state: 'done', progress: before.progress });
    },
  );

  test('skips what was sent again meanwhile, waits, was pruned or lost its comment', async () => {
    const [pending = '', sent = '', pruned = '', kept = ''] = await scene.addEnded({
      deliveries: 4,
    });
    const { rows } = await scene.pool.query<{ id: string }>(
      `WITH t AS (INSERT INTO thread (repository_id, number, author_id, title, body) VALUES (1, 1, 1, 't', '') RETURNING id)
       INSERT INTO comment (thread_id, number, author_id, body) SELECT id, 1, 1, 'c' FROM t RETURNING id`,
    );
    const commentId = Number(rows[0]?.id);
    await scene.addEnded({ deliveries: 1, event: 'comment.created', commentId });
    const id = await scene.start();
    expect((await scene.read(id)).progress.total).toBe(5);
    await retryJob(scene.pool, scene.queue, sent);
    await scene.settleDue(DEAD);
    await retryJob(scene.pool, scene.queue, pending);
    await scene.pool.query('DELETE FROM delivery_job WHERE id = $1', [pruned]);
    await scene.pool.query('DELETE FROM comment');
    expect(await scene.step(id)).toMatchObject({ queued: 1, skipped: 4 });
    expect(await scene.statuses([kept, pending, sent])).toEqual({ pending: 2, dead: 1 });
    const skippedBy = { pending: 1, sent_meanwhile: 1, pruned: 1, comment_deleted: 1 };
    expect(await scene.runToEnd(id)).toMatchObject({
      ...{ state: 'done', progress: { total: 5, delivered: 1, skipped: 4, skippedBy } },
    });
  });

  test('waits without a timer while its hook is held, and goes on when it is resumed', async () => {
    await scene.addEnded({ deliveries: 3 });
    const id = await scene.start();
    await inTransaction(scene.pool, (tx) => pauseHook(sqlOf(tx), scene.queue, scene.hookId));
    expect(await scene.step(id)).toMatchObject({ queued: 0 });
    expect(await openReplays(scene.sql)).toEqual([{ id, inMs: null }]);
    expect(await scene.step(id)).toBeNull();
    expect(await scene.read(id)).toMatchObject({
      ...{ state: 'waiting', waitsFor: { hold: { code: 'paused' } }, progress: { remaining: 3 } },
    });
    await inTransaction(scene.pool, (tx) =>
      resumeHook(sqlOf(tx), scene.queue, scene.hookId, 'account'),
    );
    expect(await scene.step(id, true)).toMatchObject({ queued: 3 });
  });

  test('waits while its hook is inactive; cannot start then', async () => {
    await scene.addEnded({ deliveries: 3 });
    const id = await scene.start();
    await scene.pool.query('UPDATE hook SET active = false WHERE id = $1', [scene.hookId]);
    expect(await scene.step(id)).toMatchObject({ queued: 0 });
    expect(await scene.read(id)).toMatchObject({ state: 'waiting', waitsFor: 'inactive' });
    expect(await openReplays(scene.sql)).toEqual([{ id, inMs: null }]);
    await scene.pool.query('UPDATE hook SET active = true WHERE id = $1', [scene.hookId]);
    expect(await scene.step(id, true)).toMatchObject({ queued: 3 });
    await expect(scene.start(replayWish(), false)).rejects.toMatchObject({
      problem: 'hook_inactive',
    });
  });

  test('that is cancelled makes nothing more pending, and counts what is', async () => {
    const ids = await scene.addEnded({ deliveries: 100 });
    const id = await scene.start();
    await scene.step(id);
    await scene.cancel(id);
    await scene.cancel(id);
    await scene.step(id);
    expect(await scene.read(id)).toMatchObject({
      ...{ state: 'cancelled', endedAt: null, progress: { remaining: 60, pending: 40 } },
    });
    expect(await scene.runToEnd(id)).toMatchObject({
      ...{ state: 'cancelled', progress: { remaining: 60, delivered: 40 } },
    });
    expect(await scene.statuses(ids)).toEqual({ delivered: 40, dead: 60 });
    expect((await scene.pool.query('SELECT FROM hook_replay_target')).rowCount).toBe(0);
  });

  test('that is cancelled while its hook is held leaves nothing behind, however much it was', async () => {
    await scene.addEnded({ deliveries: 1 });
    const id = await scene.start();
    await scene.pool.query('UPDATE hook_replay SET total = 15001');
    await scene.pool.query(
      `INSERT INTO hook_replay_target (replay_id, seq, job_id, lease_no)
       SELECT $1, n, gen_random_uuid(), 1 FROM generate_series(2, 15001) n`,
      [id],
    );
    await inTransaction(scene.pool, (tx) => pauseHook(sqlOf(tx), scene.queue, scene.hookId));
    await scene.cancel(id);
    expect(await scene.step(id)).toMatchObject({ ended: false });
    expect((await openReplays(scene.sql))[0]?.inMs).toBe(0);
    expect(await scene.step(id)).toMatchObject({ ended: true });
    expect((await scene.pool.query('SELECT FROM hook_replay_target')).rowCount).toBe(0);
    expect((await scene.read(id)).progress.remaining).toBe(15_001);
  });

  test('cannot be cancelled when all of it was made pending', async () => {
    await scene.addEnded({ deliveries: 1 });
    const id = await scene.start();
    await scene.step(id);
    await expect(scene.cancel(id)).rejects.toMatchObject({ problem: 'nothing_left_to_cancel' });
    await expect(scene.cancel(id + 1)).rejects.toMatchObject({ problem: 'unknown_replay' });
  });

  test('ends with its hook', async () => {
    await scene.addEnded({ deliveries: 100 });
    const id = await scene.start();
    await scene.step(id);
    await scene.pool.query('DELETE FROM hook WHERE id = $1', [scene.hookId]);
    expect(await scene.read(id)).toMatchObject({ hookId: null, state: 'cancelled' });
    await scene.queue.cancelLater(scene.sql, [{ hookId: scene.hookId }], 'hook_deleted');
    expect(await scene.queue.cancelSome(scene.sql, 100)).toMatchObject({ cancelled: 40 });
    expect(await scene.step(id)).toMatchObject({ cancelled: 40, ended: true });
    expect(await scene.read(id)).toMatchObject({ progress: { remaining: 60, cancelled: 40 } });
    expect((await scene.pool.query('SELECT FROM hook_replay_target')).rowCount).toBe(0);
  });

  test('is the only one of its hook until it is through', async () => {
    await scene.addEnded({ deliveries: 1 });
    const id = await scene.start();
    await expect(scene.start()).rejects.toMatchObject({
      problem: 'already_replaying',
      message: expect.stringContaining(`Replay ${id} `) as unknown,
    });
    await scene.step(id);
    expect(await scene.read(await scene.start())).toMatchObject({ progress: { total: 0 } });
  });
});

describe('two runners', () => {
  test('take one step at a time, and no step before it is due', async () => {
    await scene.addEnded({ deliveries: 100 });
    const id = await scene.start();
    const steps = await Promise.all([1, 2, 3].map(() => stepReplay(scene.sql, id, true)));
    expect(steps.filter((one) => one !== null)).toHaveLength(1);
    expect(await stepReplay(scene.sql, id, true)).toBeNull();
    expect((await scene.read(id)).progress.pending).toBe(40);
  });

  test('a step that breaks off changes nothing, and the next one does all of it', async () => {
    const ids = await scene.addEnded({ deliveries: 10 });
    const id = await scene.start();
    const client = await scene.pool.connect();
    try {
      await client.query('BEGIN');
      await client.query('SELECT * FROM hook_replay_step($1, false, 20, 500, 500, 60000)', [id]);
    } finally {
      // As a process that dies: the server rolls it back.
      client.release(true);
    }
    expect(await scene.statuses(ids)).toEqual({ dead: 10 });
    expect(await scene.runToEnd(id)).toMatchObject({ state: 'done', progress: { delivered: 10 } });
    expect(
      (await scene.seed.attempts()).filter(({ outcome }) => outcome === 'delivered'),
    ).toHaveLength(10);
  });

  test('a redelivery by hand at the same moment is not doubled', async () => {
    const [jobId = ''] = await scene.addEnded({ deliveries: 1 });
    const id = await scene.start();
    const byHand = await scene.pool.connect();
    try {
      await byHand.query('BEGIN');
      await byHand.query('SELECT delivery_redeliver($1)', [[jobId]]);
      const stepping = scene.step(id);
      await untilBlocked(scene.pool, 'the step to wait for the lane');
      await byHand.query('COMMIT');
      expect(await stepping).toMatchObject({ queued: 0, skipped: 1 });
    } finally {
      byHand.release();
    }
    expect((await scene.read(id)).progress.skippedBy).toEqual({ pending: 1 });
  });
});
