import { expect, test } from 'vitest';

import { aheadOfWallClockMs, nowMs } from './clock.js';

test('a time of the wall clock becomes one of the common clock, within its millisecond', () => {
  const ahead = aheadOfWallClockMs();
  const seen = Array.from({ length: 1_000 }, () => {
    const before = nowMs();
    return { wall: Date.now(), before, after: nowMs() };
  });
  // The one that nothing came between.
  const [{ wall, before, after } = { wall: 0, before: 0, after: 1 }] = seen.sort(
    (one, other) => one.after - one.before - (other.after - other.before),
  );
  expect(after - (wall + ahead)).toBeGreaterThan(-0.2);
  expect(before - (wall + ahead)).toBeLessThan(1.2);
});
