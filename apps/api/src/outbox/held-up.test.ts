import { expect, test } from 'vitest';

import type { ClaimedProgress } from './fanout-consumer.js';
import { HeldUp } from './held-up.js';

const SECOND_MS = 1_000;

function row(repositoryId: number | null, id = '1'): ClaimedProgress {
  const type = 'comment.created';
  const event = { id, type, version: 1, repositoryId, payload: {}, createdAt: new Date(0) };
  return { consumer: 'notifier', leaseNo: 1, attempts: 1, suspect: false, cursor: null, event };
}

test('after a page that waited in vain all wait for less, until none did for a while', () => {
  let now = 0;
  const heldUp = new HeldUp(() => now);
  const patient = heldUp.patienceMs(row(1));
  heldUp.note(row(1));
  expect(heldUp.patienceMs(row(2))).toBeLessThan(patient / 4);
  now += 14 * SECOND_MS;
  heldUp.note(row(3));
  now += 14 * SECOND_MS;
  expect(heldUp.patienceMs(row(2))).toBeLessThan(patient / 4);
  now += SECOND_MS;
  expect(heldUp.patienceMs(row(2))).toBe(patient);
  // What is known to be held is given no more than that.
  expect(heldUp.patienceMs(row(1))).toBeLessThan(patient / 4);
});

test('a repository is tried again later every time, up to half a minute, until a page of it ends some other way', () => {
  let now = 0;
  const heldUp = new HeldUp(() => now);
  const seen: number[] = [];
  for (let round = 1; round <= 7; round += 1) {
    const { times, againMs } = heldUp.note(row(1));
    expect(times).toBe(round);
    seen.push(againMs / SECOND_MS);
    now += againMs / 2;
    // One that was tried together with it, or comes meanwhile.
    expect(heldUp.note(row(1, '2'))).toEqual({ times: round, againMs: againMs / 2 });
    expect(heldUp.againMs(row(1, '3'))).toBe(againMs / 2);
    now += againMs / 2;
    expect(heldUp.againMs(row(1))).toBe(0);
  }
  expect(seen).toEqual([1, 2, 4, 8, 16, 30, 30]);
  expect(heldUp.note(row(2))).toEqual({ times: 1, againMs: SECOND_MS });
  heldUp.forget(row(1));
  expect(heldUp.note(row(1))).toEqual({ times: 1, againMs: SECOND_MS });
});

test('events of no repository are each for themselves', () => {
  const heldUp = new HeldUp(() => 0);
  heldUp.note(row(null, 'a'));
  expect(heldUp.againMs(row(null, 'b'))).toBe(0);
});
