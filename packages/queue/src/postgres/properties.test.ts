import { afterAll, beforeAll, expect, test } from 'vitest';

import { checkProperties } from '../../conformance/properties/queue-properties.js';
import { postgresHarness } from '../../conformance/queue-harness.js';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/test-database.js';

/** As many as fit; `npm run prove -- properties` plays many more. */
const RUNS = 40;
const LIMIT_MS = 6_000;
/** The same runs each time: what is new is looked for by the proof, where a find stops nobody's work. */
const SEED = 20_261_130;

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

test('whatever is asked, in any order and at once: no job is lost, stranded or settled under an old fence', async () => {
  const { fault } = await checkProperties(harness, {
    runs: RUNS,
    limitMs: LIMIT_MS,
    ...(process.env['PROPERTY_SEED'] === undefined && { seed: SEED }),
  });
  expect(fault).toBeNull();
});
