import { createPool, type Pool } from '@ghost/db';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';

import { createTestDatabase, type TestDatabase } from '../../../../test/support/test-database.js';
import {
  claimWebhooks,
  enqueueWebhooks,
  postgresHarness,
  settlement,
} from '../../conformance/queue-harness.js';
import { hookLane } from '../lane.js';
import { LanesLockedError } from '../lanes-locked-error.js';
import type { ClaimedJob, Queue } from '../queue.js';
import { createPostgresQueue } from './postgres-queue.js';

const HELD = 1;
const FREE = 2;

let database: TestDatabase;
let harness: ReturnType<typeof postgresHarness>;
let bounded: Pool;
let unbounded: Pool;
let impatient: Record<'connections' | 'statements', Queue>;

beforeAll(async () => {
  database = await createTestDatabase();
  harness = postgresHarness(database.url);
  const rest = { connectionString: database.url, max: 2, onError: () => undefined };
  bounded = createPool({ ...rest, name: 'impatient', lockWithinMs: 50 });
  unbounded = createPool({ ...rest, name: 'behind a pooler' });
  impatient = {
    connections: createPostgresQueue({ pool: bounded }),
    statements: createPostgresQueue({ pool: unbounded, lockWithinMs: 50 }),
  };
});
afterAll(async () => {
  for (const pool of [bounded, unbounded]) await pool.end();
  await harness.close();
  await database.drop();
});

type Verb = (queue: Queue, jobs: readonly ClaimedJob[]) => Promise<unknown>;
const VERBS: Record<string, Verb> = {
  settle: (queue, jobs) => queue.settle(jobs.map((job) => settlement(job, 'delivered'))),
  extend: (queue, jobs) => queue.extend(jobs),
  release: (queue, jobs) => queue.release(jobs),
};
const WAYS = Object.entries(VERBS).flatMap(([name, verb]) =>
  (['connections', 'statements'] as const).map((which) => ({ name, verb, which })),
);

test.each(WAYS)(
  '$name tells which lanes it would wait for, and does nothing: $which have a lock_timeout',
  async ({ verb: ask, which }) => {
    const queue = impatient[which];
    const verb = (jobs: readonly ClaimedJob[]) => ask(queue, jobs);
    await harness.empty();
    await enqueueWebhooks(harness, queue, HELD, 1);
    await enqueueWebhooks(harness, queue, FREE, 1);
    const jobs = await claimWebhooks(queue);
    expect(jobs).toHaveLength(2);
    const open = await harness.open();
    onTestFinished(() => open.rollback());
    await open.tx.query('SELECT FROM delivery_lane WHERE lane = $1 FOR UPDATE', [hookLane(HELD)]);
    const fault = await verb(jobs).catch((error: unknown) => error);
    expect(fault).toBeInstanceOf(LanesLockedError);
    expect(fault).toMatchObject({ lanes: new Set([hookLane(HELD)]) });
    for (const { id } of jobs) expect(await harness.job(id)).toMatchObject({ leased: true });
    await verb(jobs.filter(({ lane }) => lane === hookLane(FREE)));
    // Nothing is left on a connection that a pooler gives to somebody else.
    const { rows } = await unbounded.query('SHOW lock_timeout');
    expect(rows).toEqual([{ lock_timeout: '0' }]);
  },
);
