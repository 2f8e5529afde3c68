import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';

import { createTestDatabase, type TestDatabase } from '../../../../test/support/test-database.js';
import { enqueueWebhooks, postgresHarness, WEBHOOKS } from '../../conformance/queue-harness.js';
import { hookLane } from '../lane.js';
import type { Capacity, Claim, ClaimedJob, Queue } from '../queue.js';

const HELD = 1;
const FREE = [2, 3, 4];
const LANE = hookLane(HELD);
/** Longer than a held job keeps its lane waiting. */
const LATER_MS = 60_000;
const SLOTS = 10;

let database: TestDatabase;
let harness: ReturnType<typeof postgresHarness>;
let queue: Queue;

beforeAll(async () => {
  database = await createTestDatabase();
  harness = postgresHarness(database.url);
});
afterAll(async () => {
  await harness.close();
  await database.drop();
});
beforeEach(async () => {
  await harness.empty();
  // Its connections wait for locks without an end, as behind a pooler. It has met no held job yet.
  queue = harness.engine();
});

const claim = (more: Partial<Capacity> = {}): Promise<Claim> =>
  queue.claim({ ...WEBHOOKS, jobs: 100, lanes: 100, ...more });
const lanesOf = (jobs: readonly ClaimedJob[]) => jobs.map(({ lane }) => lane).toSorted();

/** Holds jobs as somebody does who changed them by hand and did not commit yet; returns what lets go of them. */
async function hold(ids: readonly string[], how = 'FOR UPDATE'): Promise<() => Promise<void>> {
  const open = await harness.open();
  let isOpen = true;
  const release = async () => {
    if (isOpen) await open.rollback();
    isOpen = false;
  };
  onTestFinished(release);
  await open.tx.query(`SELECT FROM delivery_job WHERE id = ANY ($1) ${how}`, [ids]);
  return release;
}

test('a job that somebody holds sets its lane aside, and what is due of all others is claimed', async () => {
  // The lane that is due for longest, which every claim meets first.
  const ids = await enqueueWebhooks(harness, queue, HELD, 3);
  for (const hook of FREE) await enqueueWebhooks(harness, queue, hook, 1);
  const release = await hold([ids[1] ?? '']);
  const { jobs, held } = await claim();
  expect(held).toEqual([LANE]);
  expect(lanesOf(jobs)).toEqual(FREE.map(hookLane));
  expect(await harness.lane(LANE)).toMatchObject({ resting: true });
  // What is enqueued meanwhile makes nobody look again.
  await enqueueWebhooks(harness, queue, HELD, 1);
  expect(await claim()).toMatchObject({ jobs: [], held: [] });
  const { workMs } = await queue.nextDue(WEBHOOKS);
  expect(workMs).toBeGreaterThan(0);
  expect(workMs).toBeLessThanOrEqual(LATER_MS);

  await harness.age(LANE, LATER_MS);
  expect(await claim()).toMatchObject({ jobs: [], held: [LANE] });
  await release();
  await harness.age(LANE, LATER_MS);
  const after = await claim();
  expect(after.held).toEqual([]);
  expect(after.jobs.map(({ id }) => id)).toEqual(expect.arrayContaining(ids));
});

test('the only job of one lane, held', async () => {
  const ids = await enqueueWebhooks(harness, queue, HELD, 1);
  const release = await hold(ids);
  expect(await claim()).toMatchObject({ jobs: [], held: [LANE] });
  expect(await claim()).toMatchObject({ jobs: [], held: [] });
  await release();
  await harness.age(LANE, LATER_MS);
  expect((await claim()).jobs).toHaveLength(1);
});

test('jobs held in a great many lanes: one claim that looks at few of them goes by all', async () => {
  const hooks = Array.from({ length: 120 }, (_, n) => n + 1);
  const held: string[] = [];
  for (const hook of hooks) held.push(...(await enqueueWebhooks(harness, queue, hook, 1)));
  await hold(held);
  await enqueueWebhooks(harness, queue, 1_000, 1);
  const found = await claim({ lanes: 5 });
  expect(found.held.toSorted()).toEqual(hooks.map(hookLane).toSorted());
  expect(lanesOf(found.jobs)).toEqual([hookLane(1_000)]);
});

test('workers side by side: each gets by a held job, whoever has its lane', async () => {
  await hold(await enqueueWebhooks(harness, queue, HELD, 1));
  const hooks = Array.from({ length: 80 }, (_, n) => n + 2);
  const workers = Array.from({ length: 4 }, () => harness.engine());
  const claimed: ClaimedJob[] = [];
  for (const hook of hooks) await enqueueWebhooks(harness, queue, hook, 1);
  const work = async (engine: Queue) => {
    // Each look takes a lane at most, so that they meet.
    for (let looks = 0; looks < 200 && claimed.length < hooks.length; looks += 1) {
      claimed.push(...(await engine.claim({ ...WEBHOOKS, jobs: 2, lanes: 2 })).jobs);
    }
  };
  await Promise.all(workers.map(work));
  expect(lanesOf(claimed)).toEqual(hooks.map(hookLane).toSorted());
});

test('a held job behind many that outlived their time', async () => {
  const ids = await enqueueWebhooks(harness, queue, HELD, 4 * SLOTS);
  await harness.pool.query(
    `UPDATE delivery_job SET expires_at = now() - interval '1 second' WHERE id = ANY ($1)`,
    [ids.slice(0, -1)],
  );
  await hold(ids.slice(-1));
  expect(await claim()).toMatchObject({ jobs: [], held: [LANE] });
  const ended = await Promise.all(ids.slice(0, -1).map((id) => harness.job(id)));
  // All but those that stand so near to it that a look sees both.
  expect(ended.filter(({ status }) => status === 'dead').length).toBeGreaterThan(2 * SLOTS);
});

test('a held job whose workers died sets its lane aside for those that are claimed alone', async () => {
  const ids = await enqueueWebhooks(harness, queue, HELD, 1);
  await harness.pool.query('UPDATE delivery_job SET abandoned = 2');
  await harness.pool.query(`UPDATE delivery_lane SET standing = 'suspect'`);
  await hold(ids);
  expect(await claim({ alone: true, jobs: 1 })).toMatchObject({ jobs: [], held: [LANE] });
  expect(await claim({ alone: true, jobs: 1 })).toMatchObject({ jobs: [], held: [] });
});

test('what no claim comes to is no reason: one behind the slots, or one that is read', async () => {
  const ids = await enqueueWebhooks(harness, queue, HELD, 8);
  await harness.pool.query('UPDATE delivery_lane SET earned = 1');
  await enqueueWebhooks(harness, queue, FREE[0] ?? 0, 1);
  await hold(ids.slice(-1));
  await hold(ids.slice(0, 1), 'FOR KEY SHARE');
  // It is careful from here on.
  await hold(await enqueueWebhooks(harness, queue, FREE[1] ?? 0, 1));
  const { jobs, held } = await claim();
  expect(held).toEqual([hookLane(FREE[1] ?? 0)]);
  expect(lanesOf(jobs)).toEqual([LANE, hookLane(FREE[0] ?? 0)]);
});

test('a pause that a receiver asked for is not made shorter', async () => {
  const ids = await enqueueWebhooks(harness, queue, HELD, 1);
  // Due again by an enqueue.
  await harness.pool.query(
    `UPDATE delivery_lane SET not_before = now() + interval '1 hour', next_at = now()`,
  );
  await hold([...ids, ...(await enqueueWebhooks(harness, queue, FREE[0] ?? 0, 1))]);
  await claim();
  const { rows } = await harness.pool.query(
    `SELECT not_before > now() + interval '59 minutes' AS rests FROM delivery_lane WHERE lane = $1`,
    [LANE],
  );
  expect(rows).toEqual([{ rests: true }]);
});

test('a claim that waits for something else says so, and sets nothing aside', async () => {
  await enqueueWebhooks(harness, queue, HELD, 1);
  const open = await harness.open();
  onTestFinished(() => open.rollback());
  await open.tx.query('LOCK TABLE delivery_job IN SHARE MODE', []);
  await expect(claim()).rejects.toMatchObject({ code: '55P03' });
  expect(await harness.lane(LANE)).toMatchObject({ resting: false });
});
