import type { AttemptFacts, AttemptOutcome } from '@ghost/contract';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { type Attempted, type Decision, decide, MAIL_BUDGET_MS, PUT_BACK_MS } from './decide.js';

const NOW = Date.parse('2026-11-29T12:00:00Z');
const WEEK_MS = 7 * 24 * 60 * 60_000;
const HOUR_MS = 60 * 60_000;
const POLICY = { webhook: { maxAttempts: 16, baseMs: 10_000, capMs: 24 * HOUR_MS } };
const facts: AttemptFacts = { startedAt: '2026-11-29T12:00:00.000Z', timings: { total: 5 } };

const webhook = (attempts = 0): Attempted => ({
  kind: 'webhook',
  attempts,
  expiresAtMs: NOW + WEEK_MS,
});
const mail = (attempts = 0, ageMs = 0): Attempted => ({
  kind: 'email',
  attempts,
  expiresAtMs: NOW + WEEK_MS - ageMs,
});
const retry = (reason: string, more = {}): AttemptOutcome => ({
  verdict: 'retry',
  reason,
  facts,
  ...more,
});

function judge(job: Attempted, outcome: AttemptOutcome, drawn = 0.5): Decision {
  return decide(job, outcome, POLICY, NOW, () => drawn);
}

describe('a webhook', () => {
  test('is done when it was delivered', () => {
    expect(judge(webhook(), { verdict: 'delivered', facts })).toMatchObject({
      action: 'settle',
      outcome: 'delivered',
      charged: true,
      attempt: facts,
    });
  });

  test('is tried again by the back-off, and is dead after its last try', () => {
    expect(judge(webhook(0), retry('http_5xx'))).toMatchObject({
      outcome: 'retry',
      reason: 'http_5xx',
      delayMs: 5_000,
    });
    expect(judge(webhook(14), retry('http_5xx'))).toMatchObject({ outcome: 'retry' });
    expect(judge(webhook(15), retry('http_5xx'))).toMatchObject({
      outcome: 'dead',
      reason: 'attempts_exhausted',
      charged: true,
      attempt: { message: 'It was try 16 of 16.' },
    });
  });

  test('waits as long as the receiver asks, and so does its lane', () => {
    const slow = retry('rate_limited', { slowsLane: true, retryAfterMs: 90_000 });
    expect(judge(webhook(), slow)).toMatchObject({ delayMs: 90_000, laneRestMs: 90_000 });
    // Without a wish the lane rests a moment, however long this job waits.
    expect(judge(webhook(10), retry('unavailable', { slowsLane: true }))).toMatchObject({
      laneRestMs: 10_000,
    });
    expect(judge(webhook(), retry('http_5xx'))).not.toHaveProperty('laneRestMs');
    expect(judge(webhook(15), slow)).toMatchObject({ outcome: 'dead', laneRestMs: 90_000 });
  });

  test('is held with its lane, charged only when something was sent', () => {
    expect(judge(webhook(), { verdict: 'hold', reason: 'gone', facts })).toMatchObject({
      outcome: 'held',
      reason: 'gone',
      charged: true,
    });
    expect(judge(webhook(15), { verdict: 'hold', reason: 'gone', facts })).toMatchObject({
      outcome: 'held',
    });
    const unreadable = { verdict: 'hold', reason: 'secret_unreadable', facts: null } as const;
    expect(judge(webhook(), unreadable)).toMatchObject({ outcome: 'held', charged: false });
  });

  test('is cancelled or given back uncharged', () => {
    expect(judge(webhook(), { verdict: 'cancelled', reason: 'hook_deleted' })).toMatchObject({
      outcome: 'cancelled',
      reason: 'hook_deleted',
      charged: false,
    });
    expect(judge(webhook(), { verdict: 'released', reason: 'shutdown' })).toEqual({
      action: 'release',
      reason: 'shutdown',
    });
  });
});

describe('a mail', () => {
  test('is tried for 48 hours, however often', () => {
    expect(judge(mail(40, 47 * HOUR_MS), retry('deferred'), 0.1)).toMatchObject({
      outcome: 'retry',
    });
    expect(judge(mail(3, MAIL_BUDGET_MS), retry('deferred'))).toMatchObject({
      outcome: 'dead',
      reason: 'time_exhausted',
    });
    // A wait that would end after them is not begun.
    expect(judge(mail(20, 47 * HOUR_MS), retry('deferred'), 0.9)).toMatchObject({
      outcome: 'dead',
    });
  });

  test('waits at most 4 hours', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 100 }), (attempts) => {
        const decision = judge(mail(attempts), retry('deferred'), 0.999);
        expect(decision).toMatchObject({ outcome: 'retry' });
        if (decision.action === 'settle') expect(decision.delayMs).toBeLessThan(4 * HOUR_MS);
      }),
    );
  });

  test('that may have arrived is tried few times, and late', () => {
    for (const drawn of [0, 0.999]) {
      const decision = judge(mail(0), retry('uncertain'), drawn);
      expect(decision).toMatchObject({ outcome: 'retry', charged: true });
      if (decision.action === 'settle')
        expect(decision.delayMs).toBeGreaterThanOrEqual(HOUR_MS / 2);
    }
    expect(judge(mail(3), retry('uncertain'))).toMatchObject({
      outcome: 'dead',
      reason: 'uncertain',
    });
  });

  test('to a full mailbox is dead after a few tries, the address suppressed for a while', () => {
    expect(judge(mail(3), retry('mailbox_full'))).toMatchObject({ outcome: 'retry' });
    expect(judge(mail(4), retry('mailbox_full'))).toMatchObject({
      outcome: 'dead',
      reason: 'mailbox_full',
      suppression: 'soft',
    });
  });

  test('to an unknown domain is tried for 48 hours, then the address is suppressed', () => {
    expect(judge(mail(5), retry('domain_unknown'))).toMatchObject({ outcome: 'retry' });
    expect(judge(mail(30, MAIL_BUDGET_MS), retry('domain_unknown'))).toMatchObject({
      outcome: 'dead',
      reason: 'domain_unknown',
      suppression: 'hard',
    });
    expect(judge(mail(30, MAIL_BUDGET_MS), retry('deferred'))).not.toHaveProperty('suppression');
  });

  test('that is refused for good says what that means for the address', () => {
    const dead = (reason: string, more = {}) =>
      judge(mail(), { verdict: 'dead', reason, facts, ...more });
    expect(dead('address_unknown', { suppress: 'a@b.example' })).toMatchObject({
      outcome: 'dead',
      suppression: 'hard',
    });
    expect(dead('refused')).toMatchObject({ suppression: 'strike' });
    expect(dead('policy_refused')).not.toHaveProperty('suppression');
    expect(dead('sender_refused')).not.toHaveProperty('suppression');
  });

  test('costs nothing while the relay is at fault', () => {
    const paused = {
      verdict: 'relay_paused',
      reason: 'relay_auth',
      pauseMs: 5_000,
      facts,
      putBack: false,
    } as const;
    expect(judge(mail(), paused)).toEqual({ action: 'release', reason: 'relay_auth' });
  });

  test('waits uncharged behind the others when the relay knew it already', () => {
    const paused = {
      verdict: 'relay_paused',
      reason: 'sender_refused',
      pauseMs: 5_000,
      facts,
      putBack: true,
    } as const;
    expect(judge(mail(), paused)).toMatchObject({
      ...{ action: 'settle', outcome: 'relay_paused', charged: false, delayMs: PUT_BACK_MS },
    });
  });
});
