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
let pool: Pool;
let queue: Queue;

beforeAll(async () => {
  database = await createTestDatabase();
  harness = postgresHarness(database.url);
  pool = createPool({
    ...{ connectionString: database.url, name: 'impatient', max: 2, lockWithinMs: 50 },
    onError: () => undefined,
  });
  queue = createPostgresQueue({ pool });
});
afterAll(async () => {
  await pool.end();
  await harness.close();
  await database.drop();
});

const VERBS: readonly [string, (jobs: readonly ClaimedJob[]) => Promise<unknown>][] = [
  ['settle', (jobs) => queue.settle(jobs.map((job) => settlement(job, 'delivered')))],
  ['extend', (jobs) => queue.extend(jobs)],
  ['release', (jobs) => queue.release(jobs)],
];

test.each(VERBS)('%s tells which lanes it would wait for, and does nothing', async (_, verb) => {
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
});
