import { randomUUID } from 'node:crypto';

import {
  createDatabase,
  createPool,
  type Database,
  inTransaction,
  type Pool,
  publishEvent,
} from '@ghost/db';
import {
  type Claim,
  createPostgresQueue,
  hookLane,
  mailLane,
  type NewJob,
  type Queue,
  type Settlement,
  sqlOf,
  sqlOfPool,
} from '@ghost/queue';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { createTestDatabase, type TestDatabase } from '../../../test/support/test-database.js';
import { waitUntil } from '../../../test/support/wait-until.js';
import { addAccount } from './accounts.js';
import { deliveriesOfEvents, explainEvent, progressOfEvents } from './explain-event.js';
import { DISCARDED, discardJob, findJob, listJobs, retryJob } from './jobs.js';
import { queueStatus } from './status.js';

const CAPACITY = { version: 1, jobs: 100, lanes: 100 } as const;

let database: TestDatabase;
let pool: Pool;
let db: Database;
let queue: Queue;

beforeEach(async () => {
  database = await createTestDatabase();
  pool = createPool({
    connectionString: database.url,
    name: 'jobs test',
    max: 4,
    onError: () => undefined,
  });
  db = createDatabase(pool);
  queue = createPostgresQueue({ pool });
});
afterEach(async () => {
  await pool.end();
  await database.drop();
});

interface Scene {
  eventId: string;
  hookJob: string;
  mailJob: string;
  hookId: number;
}

/** A repository of ada with a hook and a reader, and one event that became a webhook and a mail. */
async function scene(): Promise<Scene> {
  const ada = await addAccount(pool, { login: 'ada', email: 'ada@example.test' });
  const brian = await addAccount(pool, { login: 'brian', email: 'brian@example.test' });
  const repository = await insertId(
    `INSERT INTO repository (owner_id, name) VALUES ($1, 'demo') RETURNING id`,
    [ada.id],
  );
  const hookId = await insertId(
    `INSERT INTO hook (repository_id, url, events) VALUES ($1, 'https://u:p@hooks.example.test/secret?token=T', '{*}') RETURNING id`,
    [repository],
  );
  const actor = { id: ada.id, login: 'ada', name: 'Ada' };
  const eventId = await db.transaction((tx) =>
    publishEvent(tx, {
      type: 'member.added',
      repositoryId: repository,
      payload: {
        repository: {
          id: repository,
          owner: 'ada',
          name: 'demo',
          full_name: 'ada/demo',
          private: false,
          html_url: 'http://127.0.0.1/ada/demo',
        },
        sender: actor,
        member: actor,
      },
    }),
  );
  const jobs = { hookJob: randomUUID(), mailJob: randomUUID() };
  await db.transaction(async (tx) => {
    const sql = sqlOf(tx);
    const body = await queue.storeContent(sql, { kind: 'webhook', eventId, body: '{}' });
    const parts = await queue.storeContent(sql, { kind: 'email', eventId, parts: mailParts() });
    await queue.enqueue(sql, [
      webhook(jobs.hookJob, { eventId, contentId: body, hookId, repository }),
      mail(jobs.mailJob, { eventId, contentId: parts, accountId: brian.id, repository }),
    ]);
  });
  return { eventId, hookId, ...jobs };
}

const blocked = () =>
  waitUntil(
    async () => {
      const { rows } = await pool.query(
        'SELECT FROM pg_stat_activity WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0',
      );
      return rows.length > 0;
    },
    { what: 'a transaction to wait for another' },
  );

async function insertId(text: string, values: unknown[]): Promise<number> {
  const { rows } = await pool.query<{ id: string }>(text, values);
  return Number(rows[0]?.id);
}

function mailParts() {
  return {
    envelopeFrom: 'ghost@example.test',
    from: { name: 'Ada', address: 'ghost@example.test' },
    subject: ['Hello'],
    text: ['Hello'],
    date: '2026-01-01T00:00:00Z',
    messageIdDomain: 'example.test',
    headers: [],
  };
}

function webhook(
  id: string,
  at: { eventId: string; contentId: string; hookId: number; repository: number },
): NewJob {
  return {
    id,
    idempotencyKey: `webhook:${at.eventId}:${at.hookId}`,
    eventId: at.eventId,
    contentId: at.contentId,
    lane: hookLane(at.hookId),
    repositoryId: at.repository,
    kind: 'webhook',
    hookId: at.hookId,
    own: { event: 'member.added' },
  };
}

function mail(
  id: string,
  at: { eventId: string; contentId: string; accountId: number; repository: number },
): NewJob {
  return {
    id,
    idempotencyKey: `email:${at.eventId}:${at.accountId}`,
    eventId: at.eventId,
    contentId: at.contentId,
    lane: mailLane('brian@example.test', false),
    repositoryId: at.repository,
    kind: 'email',
    accountId: at.accountId,
    own: { to: { name: 'Brian', address: 'brian@example.test' }, slots: {} },
  };
}

async function settleAll(
  { jobs }: Claim,
  outcome: Pick<Settlement, 'outcome' | 'reason' | 'charged' | 'delayMs'>,
): Promise<void> {
  await queue.settle(
    jobs.map(({ id, leaseNo, lane, version }) => ({
      id,
      leaseNo,
      lane,
      version,
      ...outcome,
      attempt: { startedAt: '2026-01-01T00:00:00Z', message: 'It answered 500.', status: 500 },
    })),
  );
}

const FAILED = { outcome: 'retry', reason: 'http_500', charged: true, delayMs: 60_000 } as const;
const DEAD = { outcome: 'dead', reason: 'attempts_used', charged: true, delayMs: 0 } as const;
const DONE = { outcome: 'delivered', reason: null, charged: true, delayMs: 0 } as const;

describe('explainEvent', () => {
  test('tells who got it, who did not and why, each try and what comes next', async () => {
    const { eventId, hookId, hookJob, mailJob } = await scene();
    await pool.query(
      `INSERT INTO fanout_skip (event_id, target_kind, target_id, reason) VALUES ($1, 'hook', 99, 'inactive'), ($1, 'account', 1, 'author')`,
      [eventId],
    );
    await pool.query(
      `UPDATE outbox_progress SET done_at = now() WHERE event_id = $1 AND consumer = 'notifier'`,
      [eventId],
    );
    await settleAll(await queue.claim({ kind: 'webhook', ...CAPACITY }), FAILED);
    await settleAll(await queue.claim({ kind: 'email', ...CAPACITY }), DONE);

    const told = await explainEvent(pool, eventId);
    expect(told).toMatchObject({
      id: eventId,
      type: 'member.added',
      repository: 'ada/demo',
      processedAt: null,
      counts: { pending: 1, delivered: 1, dead: 0, cancelled: 0 },
      consumers: [
        { consumer: 'notifier', state: 'done', nextAt: null },
        { consumer: 'webhook-fanout', state: 'pending', endedAt: null },
      ],
      deliveries: [
        {
          jobId: hookJob,
          target: `hook ${hookId} (https://hooks.example.test)`,
          status: 'pending',
          waiting: 'scheduled',
          attempts: 1,
          lastError: 'http_500',
          history: [{ number: 1, outcome: 'retry', reason: 'http_500', status: 500 }],
        },
        {
          jobId: mailJob,
          target: 'brian <brian@example.test>',
          status: 'delivered',
          waiting: null,
          lastError: null,
          history: [{ number: 1, outcome: 'delivered', nextRunAt: null }],
        },
      ],
      skips: [
        { target: 'ada', reason: 'author' },
        { target: 'hook 99 (deleted)', reason: 'inactive' },
      ],
    });
    // A hook's URL may hold credentials in its path: they are shown to no one.
    expect(JSON.stringify(told)).not.toMatch(/secret|token=T|u:p/u);
    expect(told?.deliveries[0]?.history[0]?.nextRunAt).toEqual(told?.deliveries[0]?.runAt);
  });

  test('says when the repository is gone', async () => {
    const { eventId } = await scene();
    expect(await explainEvent(pool, eventId)).toMatchObject({ repositoryDeleted: false });
    await pool.query('DELETE FROM hook');
    await pool.query('DELETE FROM repository');
    expect(await explainEvent(pool, eventId)).toMatchObject({ repositoryDeleted: true });
  });

  test('answers null for an event that is not there', async () => {
    expect(await explainEvent(pool, randomUUID())).toBeNull();
  });

  test('lists no more than asked and counts all', async () => {
    const { eventId, hookJob, mailJob } = await scene();
    const told = await explainEvent(pool, eventId, 1);
    expect(told?.deliveries.map((one) => one.jobId)).toEqual([hookJob]);
    expect(told?.counts.pending).toBe(2);
    // What was delivered needs nobody and comes last.
    await settleAll(await queue.claim({ kind: 'webhook', ...CAPACITY }), DONE);
    const later = await explainEvent(pool, eventId, 1);
    expect(later?.deliveries.map((one) => one.jobId)).toEqual([mailJob]);
    expect(await deliveriesOfEvents(pool, [eventId, randomUUID()])).toHaveLength(2);
  });
});

describe('progressOfEvents', () => {
  test('counts what will still happen by itself, and apart what waits for a person', async () => {
    const { eventId, hookId } = await scene();
    expect(await progressOfEvents(pool, [eventId])).toEqual({
      consumersOpen: 2,
      setAside: 0,
      pending: 2,
      held: 0,
      ended: 0,
    });
    await pool.query(
      `UPDATE outbox_progress SET done_at = CASE WHEN consumer = 'notifier' THEN now() END,
         set_aside_at = CASE WHEN consumer <> 'notifier' THEN now() END`,
    );
    await queue.hold(sqlOfPool(pool), hookLane(hookId), 'gone');
    await settleAll(await queue.claim({ kind: 'email', ...CAPACITY }), DONE);
    expect(await progressOfEvents(pool, [eventId])).toEqual({
      consumersOpen: 0,
      setAside: 1,
      pending: 0,
      held: 1,
      ended: 1,
    });
  });
});

describe('retryJob', () => {
  test('makes a dead job pending again with a fresh budget', async () => {
    const { hookJob } = await scene();
    await settleAll(await queue.claim({ kind: 'webhook', ...CAPACITY }), DEAD);
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
    const { mailJob } = await scene();
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
    const { hookJob, mailJob, hookId } = await scene();
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
    await queue.cancel(sqlOfPool(pool), { hookId }, 'hook_deleted');
    await pool.query('DELETE FROM hook');
    expect(await retryJob(pool, queue, hookJob)).toMatchObject({ reason: 'its hook was deleted' });
    expect((await findJob(pool, hookJob))?.status).toBe('cancelled');
  });
});

describe('retryJob and a deletion of the hook', () => {
  test('that is under way: the retry waits, and finds nobody', async () => {
    const { hookJob, hookId } = await scene();
    await settleAll(await queue.claim({ kind: 'webhook', ...CAPACITY }), DONE);
    let retried: ReturnType<typeof retryJob> | undefined;
    await inTransaction(pool, async (tx) => {
      await sqlOf(tx).query('DELETE FROM hook WHERE id = $1', [hookId]);
      retried = retryJob(pool, queue, hookJob);
      await blocked();
      await queue.cancel(sqlOf(tx), { hookId }, 'hook_deleted');
    });
    expect(await retried).toMatchObject({ reason: 'its hook was deleted' });
    expect((await findJob(pool, hookJob))?.status).toBe('delivered');
  });

  test('that begins meanwhile waits, and then ends what was sent again', async () => {
    const { hookJob, hookId } = await scene();
    await settleAll(await queue.claim({ kind: 'webhook', ...CAPACITY }), DONE);
    let deleted: Promise<number> | undefined;
    const slow: Queue = {
      ...queue,
      redeliver: async (sql, ids) => {
        deleted = inTransaction(pool, async (tx) => {
          await sqlOf(tx).query('DELETE FROM hook WHERE id = $1', [hookId]);
          return queue.cancel(sqlOf(tx), { hookId }, 'hook_deleted');
        });
        await blocked();
        return queue.redeliver(sql, ids);
      },
    };
    expect(await retryJob(pool, slow, hookJob)).toMatchObject({ result: 'done' });
    expect(await deleted).toBe(1);
    expect(await findJob(pool, hookJob)).toMatchObject({
      status: 'cancelled',
      lastError: 'hook_deleted',
    });
  });
});

describe('discardJob', () => {
  test('ends a pending job, and the worker that holds it loses its fence', async () => {
    const { hookJob } = await scene();
    const claim = await queue.claim({ kind: 'webhook', ...CAPACITY });
    expect(await discardJob(pool, queue, hookJob)).toEqual({ result: 'done', jobId: hookJob });
    await settleAll(claim, DONE);
    expect(await findJob(pool, hookJob)).toMatchObject({
      status: 'cancelled',
      lastError: DISCARDED,
    });
    expect(await discardJob(pool, queue, hookJob)).toMatchObject({ result: 'refused' });
  });
});

describe('listJobs and queueStatus', () => {
  test('filter by status, kind and lane, and count what waits for what', async () => {
    const { hookJob, mailJob, hookId } = await scene();
    await queue.hold(sqlOfPool(pool), hookLane(hookId), 'paused by its owner');
    await settleAll(await queue.claim({ kind: 'email', ...CAPACITY }), DONE);

    const ids = async (filter: Parameters<typeof listJobs>[1]) =>
      (await listJobs(pool, filter)).map((job) => job.jobId);
    expect((await ids({})).toSorted()).toEqual([hookJob, mailJob].toSorted());
    expect(await ids({ status: 'delivered' })).toEqual([mailJob]);
    expect(await ids({ kind: 'webhook' })).toEqual([hookJob]);
    expect(await ids({ held: true })).toEqual([hookJob]);
    expect(await ids({ lane: 'mail:example.test' })).toEqual([mailJob]);
    expect(await ids({ limit: 1 })).toHaveLength(1);

    expect(await queueStatus(pool)).toMatchObject({
      counts: [
        { kind: 'email', status: 'delivered', waiting: null, jobs: 1 },
        { kind: 'webhook', status: 'pending', waiting: 'held', jobs: 1 },
      ],
      heldLanes: [{ lane: hookLane(hookId), reason: 'paused by its owner', jobs: 1 }],
      relayPausedUntil: null,
      outbox: { pending: 2, setAside: 0 },
    });
  });

  test('tell that the relay rests and why', async () => {
    await queue.pauseRelay('auth_refused', 60_000);
    const status = await queueStatus(pool);
    expect(status.relayReason).toBe('auth_refused');
    expect(status.relayPausedUntil?.getTime()).toBeGreaterThan(0);
  });
});
