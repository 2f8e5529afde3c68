import { expect, test } from 'vitest';

import { LoopDelay } from './loop-delay.js';

const NS_PER_MS = 1e6;
const NONE = { '0.5': 0, '0.99': 0, '1': 0 };

/** A histogram in which all values are the same, and a clock. */
function world() {
  const state = { now: 0, ms: 0, count: 0 };
  const histogram = {
    percentile: () => state.ms * NS_PER_MS,
    get max() {
      return state.ms * NS_PER_MS;
    },
    get count() {
      return state.count;
    },
    reset: () => {
      state.count = 0;
      state.ms = 0;
    },
  };
  const delays = new LoopDelay(histogram, 10, () => state.now);
  const blockFor = (ms: number) => {
    state.ms = 10 + ms;
    state.count = 1;
  };
  return { state, delays, blockFor };
}

test('each scraper sees a delay, whoever scraped before', () => {
  const { state, delays, blockFor } = world();
  state.now = 59_000;
  blockFor(500);
  for (const at of [59_000, 59_500, 60_000, 60_001, 119_999]) {
    state.now = at;
    expect(delays.read()['1']).toBeCloseTo(0.5);
  }
});

test('it is gone after the window behind its own', () => {
  const { state, delays, blockFor } = world();
  blockFor(500);
  for (const at of [60_000, 120_000]) {
    state.now = at;
    expect(delays.read()['0.99']).toBeCloseTo(0.5);
  }
  state.now = 120_001;
  expect(delays.read()).toEqual(NONE);
});

test('a loop that never waited, or was never looked at, has no delay', () => {
  const { delays, blockFor } = world();
  expect(delays.read()).toEqual(NONE);
  blockFor(-1);
  expect(delays.read()).toEqual(NONE);
});
