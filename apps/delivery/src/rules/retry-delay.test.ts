import fc from 'fast-check';
import { expect, test } from 'vitest';

import { retryDelayMs } from './retry-delay.js';

const backoff = { baseMs: 10_000, capMs: 24 * 60 * 60_000 };

test('full jitter: anything from 0 to the doubled base, and never past the cap', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 2_000 }),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      fc.integer({ min: 1, max: 100_000 }),
      fc.integer({ min: 1, max: 1_000_000_000 }),
      (tries, drawn, baseMs, capMs) => {
        const delayMs = retryDelayMs(tries, { baseMs, capMs }, () => drawn);
        const ceilingMs = Math.min(capMs, baseMs * 2 ** (tries - 1));
        expect(delayMs).toBeGreaterThanOrEqual(0);
        expect(delayMs).toBeLessThanOrEqual(ceilingMs);
        expect(Number.isSafeInteger(delayMs)).toBe(true);
      },
    ),
  );
});

test('the ceiling doubles with each try until the cap', () => {
  const most = (tries: number) => retryDelayMs(tries, backoff, () => 0.999_999_999);
  expect([1, 2, 3].map((tries) => Math.ceil(most(tries) / 1000))).toEqual([10, 20, 40]);
  expect(most(15)).toBeLessThanOrEqual(backoff.capMs);
  expect(most(16)).toBeGreaterThan(backoff.capMs - 1000);
});

test('the whole range is drawn from: jobs that failed together do not come back together', () => {
  let seed = 7;
  const random = () => {
    seed = (seed * 16_807) % 2_147_483_647;
    return seed / 2_147_483_647;
  };
  const drawn = Array.from({ length: 2_000 }, () => retryDelayMs(4, backoff, random));
  for (const tenth of Array.from({ length: 10 }, (_, index) => index * 8_000)) {
    const within = drawn.filter((delayMs) => delayMs >= tenth && delayMs < tenth + 8_000);
    expect(within.length).toBeGreaterThan(120);
  }
});
