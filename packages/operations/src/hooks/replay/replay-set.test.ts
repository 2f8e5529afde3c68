import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { DONE } from '../../../../../test/support/job-scene.js';
import {
  ago,
  ReplayScene,
  RETENTION_DAYS,
  replayWish,
} from '../../../../../test/support/replay-scene.js';
import { retryJob } from '../../jobs.js';
import { openReplays } from './step-replay.js';

let scene: ReplayScene;

beforeEach(async () => {
  scene = await ReplayScene.create();
});
afterEach(() => scene.stop());

describe('the set of a replay', () => {
  test('is what ended in the time with one of the statuses, of this hook alone', async () => {
    await scene.addEnded({ deliveries: 3 });
    await scene.addEnded({ deliveries: 2, event: 'thread.closed' });
    await scene.addEnded({ deliveries: 4, status: 'cancelled' });
    await scene.addEnded({ deliveries: 5, status: 'delivered' });
    await scene.addEnded({ deliveries: 7, minutesAgo: 120 });
    await scene.addEnded({ deliveries: 11 }, scene.otherId);
    expect(await scene.preview()).toMatchObject({
      ...{ total: 5, byStatus: { dead: 5 }, leftOut: {} },
      byEvent: { 'thread.opened': 3, 'thread.closed': 2 },
    });
    expect(await scene.preview(replayWish('undelivered'))).toMatchObject({
      ...{ total: 9, byStatus: { dead: 5, cancelled: 4 } },
    });
    const all = await scene.preview(replayWish('all', { since: ago(180) }));
    expect(all.byStatus).toEqual({ dead: 12, cancelled: 4, delivered: 5 });
    const before = await scene.preview(replayWish('all', { since: ago(180), until: ago(60) }));
    expect(before).toMatchObject({ total: 7, until: before.until });
  });

  test('finds what delivery itself delivered, once, however often it was delivered', async () => {
    const [jobId = ''] = await scene.seed.webhooks([scene.hookId]);
    await scene.settleDue(DONE);
    await retryJob(scene.pool, scene.queue, jobId);
    await scene.settleDue(DONE);
    expect(await scene.preview(replayWish('all'))).toMatchObject({
      total: 1,
      byStatus: { delivered: 1 },
    });
    const id = await scene.start(replayWish('all'));
    expect(await scene.runToEnd(id)).toMatchObject({ progress: { total: 1, delivered: 1 } });
    const attempts = await scene.seed.attempts();
    expect(attempts.map((attempt) => attempt.jobId)).toEqual([jobId, jobId, jobId]);
  });

  test('leaves out what tells of a deleted comment, and says so', async () => {
    await scene.addEnded({ deliveries: 2, event: 'comment.created', commentId: 404 });
    await scene.addEnded({ deliveries: 1, event: 'comment.deleted', commentId: 404 });
    expect(await scene.preview()).toMatchObject({ total: 1, leftOut: { comment_deleted: 2 } });
    expect((await scene.read(await scene.start())).progress.total).toBe(1);
  });

  test.each([
    ['since_in_future', { since: ago(-1) }],
    ['since_too_old', { since: ago((RETENTION_DAYS + 2) * 24 * 60) }],
    ['until_in_future', { until: ago(-1) }],
    ['until_before_since', { since: ago(5), until: ago(6) }],
  ])('is refused as %s', async (problem, more) => {
    await expect(scene.preview(replayWish('failed', more))).rejects.toMatchObject({ problem });
    await expect(scene.start(replayWish('failed', more))).rejects.toMatchObject({ problem });
  });

  test('is fixed at the start: what fails later is not added', async () => {
    const ids = await scene.addEnded({ deliveries: 30 });
    const seen = await scene.preview();
    const id = await scene.start({ ...replayWish(), until: seen.until, expectedTotal: 30 });
    const later = await scene.addEnded({ deliveries: 5, minutesAgo: 20 });
    expect(await scene.runToEnd(id)).toMatchObject({
      ...{ state: 'done', progress: { total: 30, delivered: 30, skipped: 0 } },
    });
    expect(await scene.statuses(ids)).toEqual({ delivered: 30 });
    expect(await scene.statuses(later)).toEqual({ dead: 5 });
  });

  test('that is another than the preview counted starts nothing', async () => {
    await scene.addEnded({ deliveries: 3 });
    await expect(scene.start({ ...replayWish(), expectedTotal: 4 })).rejects.toMatchObject({
      problem: 'total_differs',
    });
    expect(await openReplays(scene.sql)).toEqual([]);
    expect((await scene.pool.query('SELECT FROM hook_replay_target')).rowCount).toBe(0);
  });

  test('that is empty is over at once', async () => {
    expect(await scene.read(await scene.start())).toMatchObject({
      state: 'done',
      progress: { total: 0 },
    });
  });
});
