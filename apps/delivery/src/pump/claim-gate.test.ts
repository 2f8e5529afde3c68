import type { ClaimedJob } from '@ghost/queue';
import { expect, test } from 'vitest';

import { ClaimGate } from './claim-gate.js';
import { InHand } from './in-hand.js';

const JOB = {
  kind: 'webhook',
  job: { kind: 'webhook', body: '' },
  leaseEndsAt: Number.POSITIVE_INFINITY,
} as ClaimedJob;
const LONG = { withinMs: 10_000, crowdedMs: 10_000 };
const SHORT = { withinMs: 1, crowdedMs: 1 };

function gated() {
  const inHand = new InHand();
  return { inHand, gate: new ClaimGate(inHand) };
}

function deferred() {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

test('a claim alone waits for claims under way and for the hand, and keeps others out until its job is settled', async () => {
  const { inHand, gate } = gated();
  const steps: string[] = [];
  const answer = deferred();
  const underWay = gate.pass(async () => {
    await answer.promise;
    steps.push('claimed');
    return inHand.take(JOB);
  });
  let suspect: ReturnType<InHand['take']> | undefined;
  const alone = gate.alone(LONG, async () => {
    steps.push(`alone, in hand: ${inHand.size}`);
    suspect = inHand.take(JOB);
  });
  const later = gate.pass(async () => void steps.push('next claim'));
  answer.resolve();
  inHand.drop(await underWay);
  await expect.poll(() => suspect).toBeDefined();
  expect(steps).toEqual(['claimed', 'alone, in hand: 0']);
  if (suspect) inHand.drop(suspect);
  expect(await alone).toBe(true);
  await later;
  expect(steps.at(-1)).toBe('next claim');
});

test('a hand that does not get empty is not waited for without an end, and others go on', async () => {
  const { inHand, gate } = gated();
  inHand.take(JOB);
  expect(await gate.alone(SHORT, () => Promise.reject(new Error('not alone')))).toBe(false);
  expect(await gate.pass(async () => 'goes on')).toBe('goes on');
});

test('where the hand never gets empty, the second try goes beside what is in it, and waits for its own job', async () => {
  const { inHand, gate } = gated();
  const held = inHand.take(JOB);
  expect(await gate.alone(SHORT, () => Promise.reject(new Error('not yet')))).toBe(false);
  let suspect: ReturnType<InHand['take']> | undefined;
  const alone = gate.alone({ ...LONG, crowdedMs: 1 }, async (beside) => {
    expect(beside).toBe(1);
    suspect = inHand.take(JOB);
  });
  await expect.poll(() => suspect).toBeDefined();
  let claims = 0;
  const later = gate.pass(async () => void (claims += 1));
  expect(claims).toBe(0);
  if (suspect) inHand.drop(suspect);
  expect(await alone).toBe(true);
  await later;
  // Once it was empty it is waited for again.
  inHand.drop(held);
  expect(await gate.alone(SHORT, async () => undefined)).toBe(true);
  inHand.take(JOB);
  expect(await gate.alone(SHORT, () => Promise.reject(new Error('not alone')))).toBe(false);
});

test('what runs beside others and does not end keeps nobody from claiming for ever', async () => {
  const { inHand, gate } = gated();
  inHand.take(JOB);
  await gate.alone(SHORT, () => Promise.reject(new Error('not yet')));
  expect(await gate.alone(SHORT, async () => void inHand.take(JOB))).toBe(true);
  expect(await gate.pass(async () => 'goes on')).toBe('goes on');
});

test('two do not run alone at once', async () => {
  const { inHand, gate } = gated();
  const held = inHand.take(JOB);
  const first = gate.alone(LONG, async () => undefined);
  expect(await gate.alone(LONG, async () => undefined)).toBe(false);
  inHand.drop(held);
  expect(await first).toBe(true);
});

test('at the end of the process nobody waits', async () => {
  const { inHand, gate } = gated();
  inHand.take(JOB);
  const alone = gate.alone(LONG, () => Promise.reject(new Error('not at the end')));
  const waiting = gate.pass(async () => 'returned');
  gate.stop();
  expect(await alone).toBe(false);
  expect(await waiting).toBe('returned');
});
