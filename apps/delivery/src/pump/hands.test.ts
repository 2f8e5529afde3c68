import type { ClaimedJob } from '@ghost/queue';
import { expect, test } from 'vitest';

import { Hands } from './hands.js';
import { InHand } from './in-hand.js';
import { weighing } from './weight.js';

const KB = 1024;
let made = 0;

function webhook(body: string, eventId: string | null = null): ClaimedJob {
  made += 1;
  const job = { version: 1, kind: 'webhook', hookId: 1, event: 'ping', body };
  return { id: `job ${made}`, kind: 'webhook', eventId, job } as ClaimedJob;
}

function mail(text: string, html: string): ClaimedJob {
  made += 1;
  const message = { to: { name: '', address: 'ada@a.example' }, text, html };
  const job = { version: 1, kind: 'email', message };
  return { id: `job ${made}`, kind: 'email', eventId: null, job } as ClaimedJob;
}

/** Takes what a claim brought. */
function takeAll(inHand: InHand, jobs: readonly ClaimedJob[]) {
  const weigh = weighing();
  return jobs.map((job) => inHand.take(job, weigh(job)));
}

function handsOf(mostBytes: number, capacity = 1_000) {
  const inHand = new InHand();
  const hands = new Hands({ kind: 'webhook', capacity: () => capacity, mostBytes, inHand });
  return { inHand, hands };
}

test('a webhook counts as its text, once for all jobs of a claim that share it, and as a request each', () => {
  const inHand = new InHand();
  const [one, two] = takeAll(inHand, [
    webhook('x'.repeat(1_000), 'event'),
    webhook('x'.repeat(1_000), 'event'),
    // Two bytes a character in memory, and three in UTF-8.
    webhook('€'.repeat(100), 'other'),
  ]);
  expect(inHand.bytes('webhook')).toBe(1_000 + 2 * 1_000 + 200 + 300);
  const sum = () => [...inHand.beingSent()].reduce((total, { bytes }) => total + bytes, 0);
  expect(sum()).toBe(inHand.bytes('webhook'));
  if (one) inHand.drop(one);
  expect(inHand.bytes('webhook')).toBe(1_000 + 1_000 + 500);
  expect(sum()).toBe(inHand.bytes('webhook'));
  if (two) inHand.settling(two);
  expect(inHand.bytes('webhook')).toBe(500);
  // The next claim brings a copy of its own.
  takeAll(inHand, [webhook('x'.repeat(1_000), 'event')]);
  expect(inHand.bytes('webhook')).toBe(500 + 2_000);
});

test('an outcome that waits to be written holds no content, and still knows whom it is of', () => {
  const inHand = new InHand();
  const [hook, letter] = takeAll(inHand, [webhook('{"large":1}'), mail('Hello', '<p>Hello</p>')]);
  expect(inHand.bytes('email')).toBe(2 * ('Hello'.length + '<p>Hello</p>'.length));
  for (const held of [hook, letter]) if (held) inHand.settling(held);
  expect([inHand.size, inHand.bytes('webhook'), inHand.bytes('email')]).toEqual([2, 0, 0]);
  expect(hook?.claimed.job).toMatchObject({ hookId: 1, body: '' });
  expect(letter?.claimed.job).toMatchObject({
    message: { to: { address: 'ada@a.example' }, text: '' },
  });
  expect(letter?.claimed.job).not.toHaveProperty('message.html');
  // Each is counted off once.
  for (const held of [hook, letter]) if (held) inHand.drop(held);
  expect([inHand.bytes('webhook'), inHand.bytes('email')]).toEqual([0, 0]);
});

test('while the bytes are used up no hand is free, and one is as soon as a job was sent', () => {
  const { inHand, hands } = handsOf(10 * KB);
  const [first, second] = takeAll(inHand, [webhook('x'.repeat(3 * KB)), webhook('x'.repeat(KB))]);
  expect(hands.free).toBe(998);
  takeAll(inHand, [webhook('x'.repeat(KB))]);
  expect(hands.free).toBe(0);
  expect(hands.room().jobs).toBe(0);
  if (second) inHand.settling(second);
  expect(hands.free).toBe(998);
  if (first) inHand.settling(first);
  expect(hands.free).toBe(999);
});

test('what mails take keeps no webhook back', () => {
  const { inHand, hands } = handsOf(KB);
  takeAll(inHand, [mail('x'.repeat(10 * KB), '')]);
  expect(hands.free).toBe(1_000);
});

test('before anything was claimed jobs are taken for large, and the first ones tell', () => {
  const { inHand, hands } = handsOf(64 * KB * KB);
  expect(hands.room().jobs).toBe(64);
  hands.taking(2, () => takeAll(inHand, [webhook('x'.repeat(KB)), webhook('x'.repeat(KB))]));
  expect(hands.room().jobs).toBe(500);
});

test('after a claim of large jobs fewer are asked for at once, after small ones more by and by', () => {
  const { inHand, hands } = handsOf(8 * KB * KB);
  const claim = (bytes: number, jobs: number) => {
    const held = Array.from({ length: jobs }, () => webhook('x'.repeat(bytes / 2)));
    hands.taking(jobs, () => takeAll(inHand, held));
    for (const one of inHand.all()) inHand.drop(one);
    return hands.room().jobs;
  };
  expect(claim(KB * KB, 4)).toBe(8);
  const small = Array.from({ length: 12 }, () => claim(2 * KB, 10));
  expect(small.slice(0, 3)).toEqual([15, 31, 63]);
  expect(small.at(-1)).toBe(500);
  expect(claim(KB * KB, 2)).toBe(8);
  // Larger than all that there is room for: one, with an empty hand.
  expect(claim(32 * KB * KB, 1)).toBe(1);
});

test('half of the bytes that slow lanes do not hold are waited for', () => {
  const { inHand, hands } = handsOf(100 * KB);
  const slow = { ...webhook('x'.repeat(10 * KB)), slow: true };
  takeAll(inHand, [slow, webhook('x'.repeat(10 * KB)), webhook('x'.repeat(15 * KB))]);
  const enough = hands.gathered();
  expect(enough()).toBe(false);
  const [, second] = inHand.all();
  if (second) inHand.settling(second);
  expect(enough()).toBe(true);
});
