import { afterAll, beforeAll, expect, test } from 'vitest';

import { badRequests } from '../../../../test/support/fuzz/bad-requests.js';
import { faultOf } from '../../../../test/support/fuzz/fault-of.js';
import { FuzzWorld } from '../../../../test/support/fuzz/fuzz-world.js';
import { sendRandomRequests } from '../../../../test/support/fuzz/random-requests.js';
import { startTestApi, type TestApi } from '../../../../test/support/test-api.js';

/** The same requests in each test run; `npm run prove -- fuzz` sends others, and `FUZZ_SEED` repeats those here. */
const SEED = Number(process.env['FUZZ_SEED'] ?? 1);
const RANDOM_REQUESTS = 2000;

let api: TestApi;
let world: FuzzWorld;
beforeAll(async () => {
  api = await startTestApi();
  world = await FuzzWorld.over(api);
});
afterAll(async () => {
  world.stop();
  await api.stop();
});

test('every kind of bad input, to every route, is a 4xx that names the fault', async () => {
  const faults: string[] = [];
  let count = 0;
  for (const at of world.operations) {
    for (const bad of badRequests(world, at)) {
      count += 1;
      const fault = await faultOf(world, bad);
      if (fault !== null) faults.push(`${at.method} ${at.template}, ${bad.name}: ${fault}`);
    }
  }
  expect(count).toBeGreaterThan(1000);
  expect(faults).toEqual([]);
}, 120_000);

test(`${RANDOM_REQUESTS} random requests are all answered as the document says, none with a 5xx (seed ${SEED})`, async () => {
  const seen = await sendRandomRequests(world, { count: RANDOM_REQUESTS, seed: SEED });
  // They got past the guard, and did not all fail.
  expect(seen['2xx']).toBeGreaterThan(RANDOM_REQUESTS / 20);
  expect(seen['4xx']).toBeGreaterThan(RANDOM_REQUESTS / 4);
}, 120_000);
