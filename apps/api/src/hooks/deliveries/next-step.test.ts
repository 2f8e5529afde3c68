import { describe, expect, test } from 'vitest';

import { type JobNow, type LaneNow, nextStep } from './next-step.js';

const NOW = new Date('2026-11-30T12:00:00Z');
const in_ = (seconds: number) => new Date(NOW.getTime() + seconds * 1000);
const FREE: LaneNow = { heldReason: null, heldAt: null, notBefore: null, perMinute: null };
const PENDING: JobNow = {
  status: 'pending',
  lastError: 'http_500',
  attempts: 4,
  runAt: in_(240),
  expiresAt: in_(6 * 86_400),
  inFlight: false,
};
const next = (job: Partial<JobNow> | null, lane: Partial<LaneNow> | null = {}) =>
  nextStep(job && { ...PENDING, ...job }, lane && { ...FREE, ...lane }, {
    maxAttempts: 16,
    now: NOW,
  });

describe('what happens next to a delivery', () => {
  test('that is tried again: when, and which attempt of how many', () => {
    expect(next({})).toEqual({ at: in_(240), message: 'Again in about 4 min, attempt 5 of 16.' });
    expect(next({}, null)).toEqual(next({}));
  });

  test.each([
    [0.2, '1 s'],
    [40, '40 s'],
    [119, '119 s'],
    [120, '2 min'],
    [5400, '90 min'],
    [3 * 3600, '3 h'],
    [47 * 3600, '47 h'],
    [5 * 86_400, '5 days'],
  ])('in %d s: about %s', (seconds, words) => {
    expect(next({ runAt: in_(seconds) }).message).toBe(`Again in about ${words}, attempt 5 of 16.`);
  });

  test('whose endpoint rests for longer: when it may be asked again', () => {
    expect(next({}, { notBefore: in_(600) }).at).toEqual(in_(600));
    expect(next({}, { notBefore: in_(-600) }).at).toEqual(in_(240));
  });

  test('that is due: as soon as there is room', () => {
    expect(next({ runAt: in_(-1) })).toEqual({
      at: in_(-1),
      message: 'It is sent as soon as there is room, attempt 5 of 16.',
    });
  });

  test('that is due at a hook with a rate limit: in its turn, and nobody knows when', () => {
    expect(next({ runAt: in_(-1) }, { perMinute: 6 })).toEqual({
      at: null,
      message:
        'It is sent in its turn, of which the hook takes 6 a minute at most, attempt 5 of 16.',
    });
    expect(next({}, { perMinute: 6 }).at).toEqual(in_(240));
  });

  test('that a worker holds: now', () => {
    expect(next({ inFlight: true })).toEqual({
      at: null,
      message: 'It is being sent now, attempt 5 of 16.',
    });
  });

  test('of a hook that is held: when somebody resumes it, and how long it is kept', () => {
    const { at, message } = next({}, { heldReason: 'gone', heldAt: in_(-60) });
    expect(at).toBeNull();
    expect(message).toContain('until the hook is resumed, till 2026-12-06T12:00:00.000Z at most');
    expect(message).toContain('410 Gone');
  });

  test('that ended: nothing, and why', () => {
    expect(next({ status: 'delivered', lastError: null })).toEqual({
      at: null,
      message: 'It was delivered.',
    });
    expect(next({ status: 'dead', lastError: 'attempts_exhausted' }).message).toBe(
      'It was given up (attempts_exhausted). Send it again once its cause is mended.',
    );
    expect(next({ status: 'cancelled', lastError: 'hook_inactive' }).message).toBe(
      'It was cancelled (hook_inactive).',
    );
    expect(next(null, null).message).toBe('The delivery is kept no longer.');
  });
});
