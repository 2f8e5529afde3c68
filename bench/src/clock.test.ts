import { expect, test } from 'vitest';

import { aheadOfWallClockMs, nowMs } from './clock.js';

test('a time of the wall clock becomes one of the common clock, within its millisecond', () => {
  for (let round = 0; round < 20; round += 1) {
    const ahead = aheadOfWallClockMs();
    const wall = Date.now();
    const now = nowMs();
    // What passed between the two readings is on top: only a busy machine makes it long.
    expect(wall + ahead).toBeLessThanOrEqual(now + 0.1);
    expect(now - (wall + ahead)).toBeLessThan(50);
  }
});
