import type { ClaimedJob } from '@ghost/queue';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import { collectGarbage, IdleMemory } from './idle-memory.js';
import { InHand } from './in-hand.js';

const MB = 1024 * 1024;
let inHand: InHand;
let memory: IdleMemory;
let residentMb: number;
let collections: number;

beforeEach(() => {
  vi.useFakeTimers();
  inHand = new InHand();
  residentMb = 100;
  collections = 0;
  memory = new IdleMemory({
    inHand,
    monotonic: () => Date.now(),
    resident: () => residentMb * MB,
    collect: () => {
      collections += 1;
      residentMb = Math.min(residentMb, 80);
    },
  });
});
afterEach(() => {
  memory.stop();
  vi.useRealTimers();
});

const take = () =>
  inHand.take({
    kind: 'webhook',
    job: { kind: 'webhook', body: '' },
    leaseEndsAt: 0,
  } as ClaimedJob);
function work(forMs: number) {
  const held = take();
  vi.advanceTimersByTime(forMs);
  inHand.drop(held);
}

test('ten seconds after the last job it collects twice, and then has no timer', () => {
  expect(vi.getTimerCount()).toBe(0);
  work(3_000);
  vi.advanceTimersByTime(9_000);
  expect(collections).toBe(0);
  vi.advanceTimersByTime(2_100);
  expect(collections).toBe(2);
  expect(vi.getTimerCount()).toBe(0);
});

test('work puts it off, however long one job takes', () => {
  for (let n = 0; n < 10; n += 1) work(5_000);
  work(60_000);
  expect(collections).toBe(0);
  vi.advanceTimersByTime(30_000);
  expect(collections).toBe(2);
});

test('a job now and then costs no collection while memory stays where it was', () => {
  work(100);
  vi.advanceTimersByTime(30_000);
  residentMb = 84;
  work(100);
  vi.advanceTimersByTime(30_000);
  expect(collections).toBe(2);
  residentMb = 120;
  work(100);
  vi.advanceTimersByTime(30_000);
  expect(collections).toBe(4);
});

test('a job between the two collections puts the second off', () => {
  work(100);
  vi.advanceTimersByTime(10_050);
  expect(collections).toBe(1);
  const held = take();
  vi.advanceTimersByTime(5_000);
  expect(collections).toBe(1);
  inHand.drop(held);
  residentMb = 100;
  vi.advanceTimersByTime(30_000);
  expect(collections).toBe(3);
});

test('stopped, it does nothing any more', () => {
  work(100);
  memory.stop();
  vi.advanceTimersByTime(60_000);
  work(100);
  vi.advanceTimersByTime(60_000);
  expect(collections).toBe(0);
});

test('a collection takes what nobody holds any more', async () => {
  vi.useRealTimers();
  const dropped = new WeakRef({ text: 'of a burst' });
  // A WeakRef keeps what it refers to until the turn of the loop ends.
  await new Promise((resolve) => setImmediate(resolve));
  collectGarbage();
  expect(dropped.deref()).toBeUndefined();
});
