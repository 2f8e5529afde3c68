import { expect, test } from 'vitest';

import { fuzzAnswers } from '../../../../test/support/hostile/fuzz/fuzz-answers.js';

const SEED = 20_261_130;
const ATTEMPTS = 400;
const LANES = 40;

/** A minute of it is `npm run prove -- fuzz-response`. */
test('random answers crash nothing, hang nothing, and none is taken for the next', async () => {
  const fuzzed = await fuzzAnswers({
    seed: SEED,
    lanes: LANES,
    attemptsMost: ATTEMPTS,
    forMs: 15_000,
    slackMs: 1_000,
  });
  expect(fuzzed).toMatchObject({ attempts: ATTEMPTS, faults: [], socketsLeft: 0 });
  expect(fuzzed.intactLate).toBeLessThan(fuzzed.intact / 2);
  expect(Math.min(fuzzed.intact, fuzzed.reused, fuzzed.delivered)).toBeGreaterThan(10);
});
