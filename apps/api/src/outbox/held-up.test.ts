import { expect, test } from 'vitest';

import type { ClaimedProgress } from './fanout-consumer.js';
import { HeldUp } from './held-up.js';

const SECOND_MS = 1_000;

function row(id: string): ClaimedProgress {
  const event = {
    id,
    type: 'comment.created',
    version: 1,
    repositoryId: 1,
    payload: {},
    createdAt: new Date(0),
  };
  return { consumer: 'notifier', leaseNo: 1, attempts: 1, suspect: false, cursor: null, event };
}

test('after a page that waited in vain all wait for less, until none did for a while', () => {
  let now = 0;
  const heldUp = new HeldUp(() => now);
  const patient = heldUp.patienceMs;
  heldUp.note(row('a'));
  expect(heldUp.patienceMs).toBeLessThan(patient / 4);
  now += 14 * SECOND_MS;
  heldUp.note(row('b'));
  now += 14 * SECOND_MS;
  expect(heldUp.patienceMs).toBeLessThan(patient / 4);
  now += SECOND_MS;
  expect(heldUp.patienceMs).toBe(patient);
});

test('each is tried again later every time, up to a minute, until it ends some other way', () => {
  const heldUp = new HeldUp(() => 0);
  const noted = Array.from({ length: 8 }, () => heldUp.note(row('a')));
  expect(noted.map(({ times }) => times)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  expect(noted.map(({ againMs }) => againMs / SECOND_MS)).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
  expect(heldUp.note(row('b'))).toEqual({ times: 1, againMs: SECOND_MS });
  heldUp.forget(row('a'));
  expect(heldUp.note(row('a'))).toEqual({ times: 1, againMs: SECOND_MS });
});
