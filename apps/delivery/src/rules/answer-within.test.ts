import { expect, test } from 'vitest';

import { answerWithinMs } from './answer-within.js';

test('a statement is given up early enough to extend a lease on another connection', () => {
  for (const leaseMs of [13_000, 30_000, 120_000, 3_600_000]) {
    // The extension is asked for after a third; the next try follows within 1 s.
    expect(leaseMs / 3 + answerWithinMs(leaseMs) + 1_000).toBeLessThan(leaseMs);
  }
});

test('a statement has seconds, however short the lease', () => {
  expect(answerWithinMs(1_000)).toBe(4_000);
  expect(answerWithinMs(30_000)).toBe(10_000);
  expect(answerWithinMs(3_600_000)).toBe(40_000);
});
