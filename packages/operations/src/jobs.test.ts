import { randomUUID } from 'node:crypto';

import { inTransaction, type Pool } from '@ghost/db';
import { createPostgresQueue, hookLane, type Queue, sqlOf, sqlOfPool } from '@ghost/queue';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import {
  CAPACITY,
  createJobScene,
  DEAD,
  DONE,
  settleAll,
} from '../../../test/support/job-scene.js';
import { createTestDatabase, type TestDatabase } from '../../../test/support/test-database.js';
import { untilBlocked } from '../../../test/support/until-blocked.js';
import { DISCARDED, discardJob, findJob, listJobs, retryJob } from './jobs.js';

let database: TestDatabase;
let pool: Pool;
let queue: Queue;

beforeEach(async () => {
  database = await createTestDatabase();
  pool = database.pool(4);
  queue = createPostgresQueue({ pool });
});
afterEach(() => database.drop());

describe('retryJob', () => {
  test('makes a dead job pending again with a fresh budget', async () => {
    const { hookJob } = await createJobScene(pool);
    await settleAll(queue, await queue.claim({ kind: 'webhook', ...CAPACITY }), DEAD);
    expect(await retryJob(pool, queue, hookJob)).toEqual({ result: 'done', jobId: hookJob });
    expect(await findJob(pool, hookJob)).toMatchObject({
      status: 'pending',
      waiting: 'due',
      attempts: 0,
      tries: 1,
      redelivery: true,
    });
  });

  test('sends no mail to a reader who lost access after it had ended', async () => {
    const { mailJob } = await createJobScene(pool);
    const { jobs } = await queue.claim({ kind: 'email', ...CAPACITY });
    const mail = jobs.find((job) => job.id === mailJob);
    if (!mail) throw new Error('no mail claimed');
    const { id, leaseNo, lane, version } = mail;
    const dead = {
      outcome: 'dead',
      reason: 'refused',
      charged: true,
      delayMs: 0,
      attempt: null,
    } as const;
    await queue.settle([{ id, leaseNo, lane, version, ...dead }]);
    // Private now, and brian is no member.
    await pool.query('UPDATE repository SET private = true');
    expect(await retryJob(pool, queue, mailJob)).toEqual({
      result: 'refused',
      jobId: mailJob,
      reason: 'its reader has no access to the repository any more',
    });
    expect((await findJob(pool, mailJob))?.status).toBe('dead');
    await pool.query('UPDATE repository SET private = false');
    expect(await retryJob(pool, queue, mailJob)).toEqual({ result: 'done', jobId: mailJob });
  });

  test('refuses what is pending, gone, without its hook, or final', async () => {
    const { hookJob, mailJob, hookId } = await createJobScene(pool);
    expect(await retryJob(pool, queue, hookJob)).toMatchObject({
      result: 'refused',
      reason: expect.stringContaining('pending already') as unknown,
    });
    await queue.hold(sqlOfPool(pool), hookLane(hookId), 'gone');
    expect(await retryJob(pool, queue, hookJob)).toMatchObject({
      reason: expect.stringContaining(`hook:${hookId} is held (gone)`) as unknown,
    });
    const nobody = randomUUID();
    expect(await retryJob(pool, queue, nobody)).toMatchObject({ result: 'refused', jobId: nobody });

    await queue.cancel(sqlOfPool(pool), { jobIds: [mailJob] }, 'access_lost');
    expect(await retryJob(pool, queue, mailJob)).toMatchObject({
      reason: 'it was cancelled (access_lost), which is final',
    });
    await queue.cancel(sqlOfPool(pool), { jobIds: [hookJob] }, 'hook_deleted');
    await pool.query('DELETE FROM hook');
    expect(await retryJob(pool, queue, hookJob)).toMatchObject({ reason: 'its hook was deleted' });
    expect((await findJob(pool, hookJob))?.status).toBe('cancelled');
  });

  test.each(['muted', 'ignored'])('refuses a mail that its reader said no to: %s', async (why) => {
    const { mailJob } = await createJobScene(pool);
    await queue.cancel(sqlOfPool(pool), { jobIds: [mailJob] }, why);
    expect(await retryJob(pool, queue, mailJob)).toMatchObject({
      ...{ result: 'refused', reason: 'its reader wants no more mail of it' },
    });
  });
});

test('what is pending of a deleted hook or repository says so, and that it ends', async () => {
  const { hookJob, mailJob, hookId } = await createJobScene(pool);
  await inTransaction(pool, async (tx) => {
    await sqlOf(tx).query('DELETE FROM repository', []);
    const { rows } = await pool.query<{ id: string }>('SELECT id FROM repository');
    const targets = [{ hookId }, { repositoryId: Number(rows[0]?.id) }];
    await queue.cancelLater(sqlOf(tx), targets, 'repository_deleted');
  });
  const waits = { status: 'pending', waiting: 'held', heldReason: 'repository_deleted' };
  expect((await listJobs(pool, { status: 'pending' })).toSorted(byKind)).toMatchObject([
    { jobId: mailJob, ...waits },
    { jobId: hookJob, ...waits },
  ]);
  for (const jobId of [hookJob, mailJob]) {
    expect(await retryJob(pool, queue, jobId)).toMatchObject({
      reason: 'its hook or repository was deleted, and it is about to be cancelled',
    });
  }
});

const byKind = (one: { kind: string }, other: { kind: string }) =>
  one.kind.localeCompare(other.kind);

describe('retryJob and a deletion of the hook', () => {
  test('that is under way: the retry waits, and finds nobody', async () => {
    const { hookJob, hookId } = await createJobScene(pool);
    await settleAll(queue, await queue.claim({ kind: 'webhook', ...CAPACITY }), DONE);
    let retried: ReturnType<typeof retryJob> | undefined;
    await inTransaction(pool, async (tx) => {
      await sqlOf(tx).query('DELETE FROM hook WHERE id = $1', [hookId]);
      retried = retryJob(pool, queue, hookJob);
      await untilBlocked(pool);
      await queue.cancelLater(sqlOf(tx), [{ hookId }], 'hook_deleted');
    });
    expect(await retried).toMatchObject({ reason: 'its hook was deleted' });
    expect((await findJob(pool, hookJob))?.status).toBe('delivered');
  });

  test('that begins meanwhile waits, and then ends what was sent again', async () => {
    const { hookJob, hookId } = await createJobScene(pool);
    await settleAll(queue, await queue.claim({ kind: 'webhook', ...CAPACITY }), DONE);
    let deleted: Promise<void> | undefined;
    const slow: Queue = {
      ...queue,
      redeliver: async (sql, ids) => {
        deleted = inTransaction(pool, async (tx) => {
          await sqlOf(tx).query('DELETE FROM hook WHERE id = $1', [hookId]);
          await queue.cancelLater(sqlOf(tx), [{ hookId }], 'hook_deleted');
        });
        await untilBlocked(pool);
        return queue.redeliver(sql, ids);
      },
    };
    expect(await retryJob(pool, slow, hookJob)).toMatchObject({ result: 'done' });
    await deleted;
    expect(await queue.cancelSome(sqlOfPool(pool), 10)).toMatchObject({ cancelled: 1 });
    expect(await findJob(pool, hookJob)).toMatchObject({
      status: 'cancelled',
      lastError: 'hook_deleted',
    });
  });
});

describe('discardJob', () => {
  test('ends a pending job, and the worker that holds it loses its fence', async () => {
    const { hookJob } = await createJobScene(pool);
    const claim = await queue.claim({ kind: 'webhook', ...CAPACITY });
    expect(await discardJob(pool, queue, hookJob)).toEqual({ result: 'done', jobId: hookJob });
    await settleAll(queue, claim, DONE);
    expect(await findJob(pool, hookJob)).toMatchObject({
      status: 'cancelled',
      lastError: DISCARDED,
    });
    expect(await discardJob(pool, queue, hookJob)).toMatchObject({ result: 'refused' });
  });
});

describe('listJobs', () => {
  test('filters by status, kind and lane', async () => {
    const { hookJob, mailJob, hookId } = await createJobScene(pool);
    await queue.hold(sqlOfPool(pool), hookLane(hookId), 'paused by its owner');
    await settleAll(queue, await queue.claim({ kind: 'email', ...CAPACITY }), DONE);

    const ids = async (filter: Parameters<typeof listJobs>[1]) =>
      (await listJobs(pool, filter)).map((job) => job.jobId);
    expect((await ids({})).toSorted()).toEqual([hookJob, mailJob].toSorted());
    expect(await ids({ status: 'delivered' })).toEqual([mailJob]);
    expect(await ids({ kind: 'webhook' })).toEqual([hookJob]);
    expect(await ids({ held: true })).toEqual([hookJob]);
    expect(await ids({ lane: 'mail:example.test' })).toEqual([mailJob]);
    expect(await ids({ limit: 1 })).toHaveLength(1);
  });
});
