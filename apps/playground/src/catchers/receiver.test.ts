import { randomUUID } from 'node:crypto';

import { generateSecret, signWebhook } from '@ghost/signing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { type CaughtWebhook, type Receiver, startReceiver } from './receiver.js';

const SECRET = generateSecret();
const BODY = JSON.stringify({ text: '日本語 🎉 </script>' });

let receiver: Receiver;
let came: CaughtWebhook[];
let failing: (ordinal: number) => boolean;

beforeEach(async () => {
  came = [];
  failing = () => false;
  receiver = await startReceiver({
    port: 0,
    secretOf: (path) => (path === '/hooks/demo' ? SECRET : undefined),
    failsFirstTry: (ordinal) => failing(ordinal),
    onWebhook: (webhook) => came.push(webhook),
  });
});
afterEach(() => receiver.stop());

interface Change {
  id?: string;
  body?: string;
  sentBody?: string;
  secret?: string;
  headers?: Record<string, string>;
  path?: string;
}

async function post(change: Change = {}): Promise<number> {
  const { id = randomUUID(), body = BODY, secret = SECRET, path = '/hooks/demo' } = change;
  const timestamp = Math.floor(Date.now() / 1000);
  const response = await fetch(`${receiver.url}${path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json; charset=utf-8',
      'x-ghost-event': 'comment.created',
      'x-ghost-delivery': id,
      'x-ghost-hook-id': '7',
      'x-ghost-attempt': '1',
      ...signWebhook({ id, timestamp, body, secrets: [secret] }),
      ...change.headers,
    },
    body: change.sentBody ?? body,
  });
  await response.text();
  return response.status;
}

describe('the receiver', () => {
  test('accepts what both schemes verify, byte for byte', async () => {
    expect(await post()).toBe(200);
    expect(came).toMatchObject([
      { body: BODY, hookId: '7', signatures: { standard: 'ok', ghost: 'ok' }, problems: [] },
    ]);
  });

  test('refuses another secret, a changed byte and an old signature, and says which scheme failed', async () => {
    expect(await post({ secret: generateSecret() })).toBe(400);
    expect(await post({ sentBody: BODY.replace('🎉', '🎊') })).toBe(400);
    const id = randomUUID();
    const old = signWebhook({ id, timestamp: 1_600_000_000, body: BODY, secrets: [SECRET] });
    expect(await post({ id, headers: old })).toBe(400);
    expect(came.map((webhook) => webhook.signatures.standard)).toEqual([
      'no_match',
      'no_match',
      'timestamp_too_old',
    ]);
    expect(came.map((webhook) => webhook.signatures.ghost)).toEqual([
      'no_match',
      'no_match',
      'timestamp_too_old',
    ]);
  });

  test.each([
    ['x-ghost-attempt', '0'],
    ['x-ghost-event', ''],
    ['x-ghost-hook-id', 'seven'],
    ['x-ghost-delivery', 'no-id'],
    ['content-type', 'text/plain'],
  ])('finds fault with the header %s: "%s"', async (name, value) => {
    expect(await post({ headers: { [name]: value } })).toBe(400);
    expect(came[0]?.problems.join()).toContain(name);
  });

  test('fails the first try on purpose and takes the second, with the same bytes only', async () => {
    failing = (ordinal) => ordinal === 2;
    expect(await post()).toBe(200);
    const id = randomUUID();
    expect(await post({ id })).toBe(500);
    expect(await post({ id, headers: { 'x-ghost-attempt': '2' } })).toBe(200);
    expect(await post({ id, body: `${BODY} ` })).toBe(400);
    expect(came.at(-1)?.problems).toEqual(['its bytes differ from an earlier try']);
  });

  test('knows no other hook, and answers 413 to more than any webhook has', async () => {
    expect(await post({ path: '/hooks/other' })).toBe(404);
    expect(await post({ sentBody: 'a'.repeat(3 * 1024 * 1024) }).catch(() => 413)).toBe(413);
    expect(came).toEqual([]);
  });
});
