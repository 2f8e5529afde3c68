import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';

import { createTestDatabase, type TestDatabase } from '../../../../test/support/test-database.js';
import { postgresHarness } from '../../conformance/queue-harness.js';

/** As a backup does, for as long as it takes. */
const READ = 'LOCK TABLE delivery_attempt, delivery_attempt_default IN ACCESS SHARE MODE';
const PATIENCE_MS = 5_000;

let database: TestDatabase;
let harness: ReturnType<typeof postgresHarness>;

beforeAll(async () => {
  database = await createTestDatabase();
  harness = postgresHarness(database.url);
});
afterAll(async () => {
  await harness.close();
  await database.drop();
});

test('the days ahead do not wait for whoever reads the history, and are made another time', async () => {
  const queue = harness.engine();
  const [day, ...before] = await days();
  await harness.pool.query(`DROP TABLE ${day}`);
  const reader = await harness.open();
  onTestFinished(() => reader.rollback());
  await reader.tx.query(READ, []);
  const startedAt = performance.now();
  await expect(queue.prepareHistory()).rejects.toMatchObject({ code: '55P03' });
  expect(performance.now() - startedAt).toBeLessThan(PATIENCE_MS);
  expect(await days()).toEqual(before);
  await reader.tx.query('ROLLBACK', []);
  await queue.prepareHistory();
  // At midnight one more than before.
  expect(await days()).toEqual(expect.arrayContaining([day, ...before]));
});

/** The partitions of days, the last first. */
async function days(): Promise<string[]> {
  const { rows } = await harness.pool.query<{ name: string }>(
    `SELECT inhrelid::regclass::text AS name FROM pg_inherits
     WHERE inhparent = 'delivery_attempt'::regclass AND inhrelid <> 'delivery_attempt_default'::regclass ORDER BY 1 DESC`,
  );
  return rows.map(({ name }) => name);
}
