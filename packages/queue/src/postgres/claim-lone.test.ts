import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';

import { createTestDatabase, type TestDatabase } from '../../../../test/support/test-database.js';
import {
  claimWebhooks,
  enqueueWebhooks,
  postgresHarness,
  SHORT_LEASE_MS,
  settlement,
  WEBHOOKS,
} from '../../conformance/queue-harness.js';
import { waitUntil } from '../../../../test/support/wait-until.js';
import { hookLane } from '../lane.js';
import type { Capacity, Queue } from '../queue.js';

const HOOK = 1;
const OTHER = 2;
const LANE = hookLane(HOOK);
const HOUR_MS = 3_600_000;
/** More than a test takes, and less than what the times of a lane differ by. */
const STEP_S = 10;
const SHARES = { ownerMost: 5, hostMost: 5, owners: {}, hosts: {} };

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

const enqueue = (wish: Parameters<typeof enqueueWebhooks>[4] = {}, count = 1) =>
  enqueueWebhooks(harness, queue, HOOK, count, wish);
const change = (columns: string) =>
  harness.pool.query(`UPDATE delivery_lane SET ${columns} WHERE lane = $1`, [LANE]);
const changeJob = (columns: string) =>
  harness.pool.query(`UPDATE delivery_job SET ${columns} WHERE lane = $1`, [LANE]);

interface State {
  what: string;
  make: () => Promise<unknown>;
  claim?: Partial<Capacity>;
}

const STATES: readonly State[] = [
  { what: 'a proven lane', make: () => enqueue() },
  { what: 'a new lane', make: () => enqueue({ fresh: true }) },
  {
    what: 'a lane with a limit of one',
    make: async () => (await enqueue(), change('slots = 1')),
  },
  {
    what: 'a lane that earned two slots',
    make: async () => (await enqueue(), change('earned = 2')),
  },
  {
    what: 'a proven lane, its last success long ago',
    make: async () => (await enqueue(), harness.age(LANE, 2 * HOUR_MS)),
  },
  {
    what: 'a slow lane, its last success long ago',
    make: async () => (
      await enqueue(), await harness.age(LANE, 2 * HOUR_MS), change(`standing = 'slow', earned = 3`)
    ),
  },
  { what: 'four failures', make: async () => (await enqueue(), change('failures = 4')) },
  {
    what: 'a breaker that is open, its pause over',
    make: async () => (
      await enqueue(),
      change(`failures = 7, standing = 'slow', not_before = now() - interval '1 second'`)
    ),
  },
  {
    what: 'a lane that rests',
    make: async () => (await enqueue(), change(`not_before = now() + interval '1 minute'`)),
  },
  {
    what: 'a rest that is over',
    make: async () => (await enqueue(), change(`not_before = now() - interval '1 minute'`)),
  },
  {
    what: 'a held lane that an enqueue woke',
    make: async () => (await enqueue(), change(`held_reason = 'gone', held_at = now()`)),
  },
  {
    what: 'a rate, all of it paid for',
    make: async () => (await enqueue(), change('per_minute = 60')),
  },
  {
    what: 'a rate that is used up',
    make: async () => (
      await enqueue(), change(`per_minute = 1, paid_at = now() + interval '1 minute'`)
    ),
  },
  { what: 'two jobs', make: () => enqueue({}, 2) },
  {
    what: 'one job, and one that is due later',
    make: async () => (await enqueue(), enqueue({ delayMs: 60_000 })),
  },
  {
    what: 'one job, and one in flight before it',
    make: async () => (await enqueue(), await claimWebhooks(queue), enqueue()),
  },
  {
    what: 'a job that was given back',
    make: async () => (await enqueue(), queue.release(await claimWebhooks(queue))),
  },
  {
    what: 'a job that is tried again',
    make: async () => {
      await enqueue();
      const jobs = await claimWebhooks(queue);
      await queue.settle(jobs.map((job) => settlement(job, 'retry', { laneFault: 'failed' })));
    },
  },
  {
    what: 'a lease that ran out',
    make: async () => {
      const [id = ''] = await enqueue();
      await claimWebhooks(harness.engine({ leaseMs: SHORT_LEASE_MS }));
      await waitUntil(async () => !(await harness.job(id)).leased, { what: 'the lease to end' });
    },
  },
  {
    what: 'a job whose workers died',
    make: async () => (await enqueue(), changeJob('abandoned = 2')),
  },
  {
    what: 'an owner with room',
    make: () => enqueue({ ownerId: 7 }),
    claim: { shares: { ...SHARES, owners: { 7: 4 } } },
  },
  {
    what: 'an owner who has his share',
    make: () => enqueue({ ownerId: 7 }),
    claim: { shares: { ...SHARES, owners: { 7: 5 } } },
  },
  {
    what: 'a host that has its share',
    make: () => enqueue({ host: 'a.example' }),
    claim: { shares: { ...SHARES, hosts: { 'a.example': 5 } } },
  },
  {
    what: 'a new lane where no slow one may be claimed',
    make: () => enqueue({ fresh: true }),
    claim: { slowJobs: 0 },
  },
];

// A claim that finds one lane with one job has a way of its own; with another lane beside it goes the way of many.
test.each(STATES)('a claim of one lane alone is as beside another: $what', async (state) => {
  await state.make();
  const alone = await claimed(state);
  await harness.empty();
  await state.make();
  await enqueueWebhooks(harness, queue, OTHER, 1);
  const beside = await claimed(state);
  expect(alone).toEqual(beside);
});

/** What a claim brings of the lane, and what it leaves of it, without what differs with each. */
async function claimed({ claim }: State): Promise<unknown> {
  const { jobs } = await queue.claim({ ...WEBHOOKS, jobs: 100, lanes: 100, ...claim });
  const lane = await rows('SELECT to_jsonb(l) AS row FROM delivery_lane l WHERE lane = $1');
  const left = await rows(
    'SELECT to_jsonb(j) AS row FROM delivery_job j WHERE lane = $1 ORDER BY run_at, id',
  );
  const tries = await rows(
    `SELECT to_jsonb(a) AS row FROM delivery_attempt a JOIN delivery_job j ON j.id = a.job_id WHERE j.lane = $1`,
  );
  const names = new Map(left.map(({ id }, index) => [id, `job ${index}`]));
  const plain = (row: object) =>
    Object.fromEntries(
      Object.entries(row)
        // `full`: beside another lane one with a single slot is it, which only makes its settle look once in vain.
        .filter(
          ([key]) => !/^(?:moves|full|event_id|eventId|content_id|idempotency_key)$/u.test(key),
        )
        .map(([key, value]) => [key, names.get(value) ?? roughly(key, value)]),
    );
  const got = jobs.filter((job) => job.lane === LANE);
  return {
    got: got.map(plain),
    lane: lane.map(plain),
    left: left.map(plain),
    tries: tries.map(plain),
  };
}

async function rows(text: string): Promise<Record<string, unknown>[]> {
  const { rows: found } = await harness.pool.query<{ row: Record<string, unknown> }>(text, [LANE]);
  return found.map(({ row }) => row);
}

/** Times from now in steps. */
function roughly(key: string, value: unknown): unknown {
  if (key === 'id' || key === 'job_id') return 'of its own';
  if (key === 'expiresAtMs') return stepsFrom(Number(value) - Date.now());
  if (key === 'leaseEndsAt') return stepsFrom(Number(value) - performance.now());
  const at = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isNaN(at) || !/\d{4}-\d\d-\d\dT/u.test(String(value))
    ? value
    : stepsFrom(at - Date.now());
}

function stepsFrom(ms: number): string {
  return `${Math.round(ms / 1000 / STEP_S)} steps`;
}
