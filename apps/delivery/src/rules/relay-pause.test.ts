import { expect, test } from 'vitest';

import { relayPauseMs, relayPausesMs } from './relay-pause.js';

test('the relay rests longer after each failure, from 5 s to 5 min', () => {
  expect([1, 2, 3, 6, 7, 8, 2_000].map((n) => relayPauseMs(n))).toEqual([
    5_000, 10_000, 20_000, 160_000, 300_000, 300_000, 300_000,
  ]);
});

test('its pauses are listed up to the longest', () => {
  expect(relayPausesMs()).toEqual([5_000, 10_000, 20_000, 40_000, 80_000, 160_000, 300_000]);
  expect(relayPausesMs({ firstMs: 20, longestMs: 20 })).toEqual([20]);
});
