import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';

import { createTestDatabase, type TestDatabase } from '../../../../test/support/test-database.js';
import { enqueueWebhooks, postgresHarness, WEBHOOKS } from '../../conformance/queue-harness.js';
import type { Queue } from '../queue.js';
import { createPostgresQueue } from './postgres-queue.js';

const CLAIM = { ...WEBHOOKS, jobs: 10, lanes: 25 };

let database: TestDatabase;
let harness: ReturnType<typeof postgresHarness>;
let queue: Queue;

beforeAll(async () => {
  database = await createTestDatabase();
  harness = postgresHarness(database.url);
  await harness.pool.query(`
    CREATE TABLE asked (hooks bigint[]);
    CREATE FUNCTION leases_of(p_hooks bigint[]) RETURNS json LANGUAGE plpgsql VOLATILE AS $$
    BEGIN
      INSERT INTO asked VALUES (p_hooks);
      RETURN (
        SELECT json_agg(json_build_array(j.hook_id, j.lease_no) ORDER BY j.hook_id)
        FROM delivery_job j WHERE j.hook_id = ANY (p_hooks) AND j.lease_until > now()
      );
    END $$`);
  queue = createPostgresQueue({ pool: harness.pool, beside: { webhook: 'leases_of' } });
});
afterAll(async () => {
  await harness.close();
  await database.drop();
});
beforeEach(async () => {
  await harness.empty();
  await harness.pool.query('TRUNCATE asked');
});

const asked = async () => (await harness.pool.query('SELECT FROM asked')).rowCount;

test.each([
  ['one', [1]],
  ['many', [1, 2, 3]],
])('what is read beside a claim of %s is of after it: it sees the leases', async (_, hooks) => {
  for (const hook of hooks) await enqueueWebhooks(harness, queue, hook, 1);
  const { jobs, beside } = await queue.claim(CLAIM);
  expect(jobs).toHaveLength(hooks.length);
  expect(beside).toEqual(hooks.map((hook) => [hook, 1]));
  expect(await asked()).toBe(1);
});

test('a claim that finds nothing reads nothing beside it', async () => {
  expect(await queue.claim(CLAIM)).toEqual({ jobs: [], unreadable: [], held: [], beside: null });
  expect(await asked()).toBe(0);
});

test('without a function of its kind a claim reads nothing', async () => {
  await enqueueWebhooks(harness, queue, 1, 1);
  const { jobs, beside } = await harness.engine().claim(CLAIM);
  expect(jobs).toHaveLength(1);
  expect(beside).toBeNull();
});
