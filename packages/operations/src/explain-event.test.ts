import { randomUUID } from 'node:crypto';

import type { Pool } from '@ghost/db';
import { createPostgresQueue, hookLane, type Queue, sqlOfPool } from '@ghost/queue';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import {
  CAPACITY,
  createJobScene,
  DONE,
  FAILED,
  settleAll,
} from '../../../test/support/job-scene.js';
import { createTestDatabase, type TestDatabase } from '../../../test/support/test-database.js';
import { deliveriesOfEvents, explainEvent, progressOfEvents } from './explain-event.js';

let database: TestDatabase;
let pool: Pool;
let queue: Queue;

beforeEach(async () => {
  database = await createTestDatabase();
  pool = database.pool(4);
  queue = createPostgresQueue({ pool });
});
afterEach(() => database.drop());

describe('explainEvent', () => {
  test('tells who got it, who did not and why, each try and what comes next', async () => {
    const { eventId, hookId, hookJob, mailJob } = await createJobScene(pool);
    await pool.query(
      `INSERT INTO fanout_skip (event_id, target_kind, target_id, reason) VALUES ($1, 'hook', 99, 'inactive'), ($1, 'account', 1, 'author')`,
      [eventId],
    );
    await pool.query(
      `UPDATE outbox_progress SET done_at = now() WHERE event_id = $1 AND consumer = 'notifier'`,
      [eventId],
    );
    await settleAll(queue, await queue.claim({ kind: 'webhook', ...CAPACITY }), FAILED);
    await settleAll(queue, await queue.claim({ kind: 'email', ...CAPACITY }), DONE);

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
    const { eventId } = await createJobScene(pool);
    expect(await explainEvent(pool, eventId)).toMatchObject({ repositoryDeleted: false });
    await pool.query('DELETE FROM hook');
    await pool.query('DELETE FROM repository');
    expect(await explainEvent(pool, eventId)).toMatchObject({ repositoryDeleted: true });
  });

  test('answers null for an event that is not there', async () => {
    expect(await explainEvent(pool, randomUUID())).toBeNull();
  });

  test('lists no more than asked and counts all', async () => {
    const { eventId, hookJob, mailJob } = await createJobScene(pool);
    const told = await explainEvent(pool, eventId, 1);
    expect(told?.deliveries.map((one) => one.jobId)).toEqual([hookJob]);
    expect(told?.counts.pending).toBe(2);
    // What was delivered needs nobody and comes last.
    await settleAll(queue, await queue.claim({ kind: 'webhook', ...CAPACITY }), DONE);
    const later = await explainEvent(pool, eventId, 1);
    expect(later?.deliveries.map((one) => one.jobId)).toEqual([mailJob]);
    expect(await deliveriesOfEvents(pool, [eventId, randomUUID()])).toHaveLength(2);
  });
});

describe('progressOfEvents', () => {
  test('counts what will still happen by itself, and apart what waits for a person', async () => {
    const { eventId, hookId } = await createJobScene(pool);
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
    await settleAll(queue, await queue.claim({ kind: 'email', ...CAPACITY }), DONE);
    expect(await progressOfEvents(pool, [eventId])).toEqual({
      consumersOpen: 0,
      setAside: 1,
      pending: 0,
      held: 1,
      ended: 1,
    });
  });
});
