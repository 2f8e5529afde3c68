import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';

import { createTestDatabase, type TestDatabase } from '../../../../test/support/test-database.js';
import {
  claimWebhooks,
  enqueueWebhooks,
  postgresHarness,
  settlement,
  WEBHOOKS,
} from '../../conformance/queue-harness.js';
import { hookLane } from '../lane.js';
import type { Queue } from '../queue.js';

const NEW = 999;
const PROVEN = 30;
/** More than a claim takes, and less than one took that waited for a lane. */
const SOON_MS = 150;

let database: TestDatabase;
let harness: ReturnType<typeof postgresHarness>;
let queue: Queue;

beforeAll(async () => {
  database = await createTestDatabase();
  harness = postgresHarness(database.url);
  queue = harness.engine();
});
afterAll(async () => {
  await harness.close();
  await database.drop();
});
beforeEach(() => harness.empty());

test.each([1, 10])(
  'a lane without a success has its turn beside proven ones with a backlog: %d a claim',
  async (jobs) => {
    for (let hook = 1; hook <= PROVEN; hook += 1) await enqueueWebhooks(harness, queue, hook, 20);
    await enqueueWebhooks(harness, queue, NEW, 1, { fresh: true });
    const lanes: string[] = [];
    while (lanes.length < 2 * PROVEN && !lanes.includes(hookLane(NEW))) {
      const claim = await queue.claim({ ...WEBHOOKS, jobs, lanes: 25, slowJobs: 50 });
      lanes.push(...claim.jobs.map(({ lane }) => lane));
      await queue.settle(claim.jobs.map((job) => settlement(job, 'delivered')));
    }
    expect(lanes).toContain(hookLane(NEW));
  },
);

test('a lane that is due and held by somebody keeps claims for others waiting but for a moment', async () => {
  await enqueueWebhooks(harness, queue, 1, 1);
  await enqueueWebhooks(harness, queue, 2, 20);
  await harness.pool.query(`UPDATE delivery_lane SET next_at = next_at - interval '1 second'`);
  const open = await harness.open();
  onTestFinished(() => open.rollback());
  await open.tx.query('SELECT FROM delivery_lane WHERE lane = $1 FOR UPDATE', [hookLane(1)]);
  const took: number[] = [];
  for (let claims = 0; claims < 20; claims += 1) {
    const startedAt = performance.now();
    await claimWebhooks(queue);
    took.push(performance.now() - startedAt);
  }
  // Each of them took over 200 ms.
  expect(took.filter((ms) => ms > SOON_MS).length).toBeLessThan(took.length / 2);
});

test('the more lanes wait for the share of their owner, the later they are looked at again', async () => {
  for (let hook = 1; hook <= 100; hook += 1) {
    await enqueueWebhooks(harness, queue, hook, 1, { ownerId: 7 });
  }
  const shares = { ownerMost: 1, hostMost: 100, owners: { 7: 1 }, hosts: {} };
  const claim = await queue.claim({ ...WEBHOOKS, jobs: 100, lanes: 100, shares });
  expect(claim.jobs).toEqual([]);
  // With 25 ms for each, however many, a thousand of them stood before every other lane: light p99 22 → 967 ms.
  expect((await queue.nextDue(WEBHOOKS)).workMs).toBeGreaterThan(100);
});
