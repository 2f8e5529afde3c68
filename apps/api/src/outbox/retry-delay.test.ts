import fc from 'fast-check';
import { expect, test } from 'vitest';

import { retryDelay } from './retry-delay.js';

test('grows five-fold with each failure, up to 15 minutes', () => {
  const longest = [1, 2, 3, 4, 5, 6].map((attempts) =>
    Math.ceil(retryDelay(attempts, 1000, 0.999_999)),
  );
  expect(longest).toEqual([1000, 5000, 25_000, 125_000, 625_000, 900_000]);
});

test('is at least half and at most the whole of that, whatever the dice say', () => {
  const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 100 }),
      fc.integer({ min: 1, max: 3_600_000 }),
      random,
      (attempts, base, dice) => {
        const whole = Math.min(900_000, base * 5 ** (attempts - 1));
        const delay = retryDelay(attempts, base, dice);
        return delay >= whole / 2 && delay <= whole;
      },
    ),
  );
});
