import { beforeEach, expect, onTestFinished, test } from 'vitest';

import { waitUntil } from '../../../test/support/wait-until.js';
import { type ClockGap, ClockWatch } from './clock-watch.js';

let clocks: { wall: number; monotonic: number };
let gaps: ClockGap[];
beforeEach(() => {
  clocks = { wall: 1_000_000, monotonic: 500 };
  gaps = [];
});

function watch(tickMs = 60_000): ClockWatch {
  const watched = new ClockWatch({
    now: () => clocks.wall,
    monotonic: () => clocks.monotonic,
    tickMs,
    gapMs: 4_000,
    onGap: (gap) => gaps.push(gap),
  });
  watched.start();
  onTestFinished(() => watched.stop());
  return watched;
}

function pass(wallMs: number, monotonicMs: number): void {
  clocks.wall += wallMs;
  clocks.monotonic += monotonicMs;
}

test('a timer that comes a little late is no gap', () => {
  const watched = watch();
  pass(63_000, 63_000);
  watched.look();
  pass(100, 100);
  watched.look();
  expect(gaps).toEqual([]);
});

test('a process that was stopped has a gap, told once', () => {
  const watched = watch();
  pass(90_000, 90_000);
  watched.look();
  watched.look();
  expect(gaps).toEqual([{ gapMs: 30_000, uncountedMs: 0 }]);
});

test('a machine that slept has a gap, although its monotonic clock stood still', () => {
  const watched = watch();
  pass(3_600_000, 10);
  watched.look();
  expect(gaps).toEqual([{ gapMs: 3_540_000, uncountedMs: 3_599_990 }]);
});

test('a clock that was set back is no gap', () => {
  const watched = watch();
  pass(-3_600_000, 10);
  watched.look();
  expect(gaps).toEqual([]);
});

test('it looks by itself', async () => {
  watch(5);
  pass(10_000, 10_000);
  await waitUntil(() => gaps.length === 1, { what: 'the gap to be noticed' });
  expect(gaps).toEqual([{ gapMs: 9_995, uncountedMs: 0 }]);
});

test('stopped, it tells nothing', () => {
  const watched = watch();
  watched.stop();
  pass(90_000, 90_000);
  watched.look();
  expect(gaps).toEqual([]);
});
