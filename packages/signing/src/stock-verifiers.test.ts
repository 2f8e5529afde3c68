import { createHmac } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import Stripe from 'stripe';
import { describe, expect, test } from 'vitest';
import { generateSecret, standardForm } from './secret-key.js';
import { signWebhook } from './sign-webhook.js';

const BODIES: Record<string, string> = {
  plain: '{"test": 2432232314}',
  emoji: JSON.stringify({ text: '🎉👩‍👩‍👧‍👦'.repeat(200) }),
  CJK: JSON.stringify({ text: '日本語のコメント、中文评论、한국어' }),
  'line separators and markup': '{"text":"\u2028\u2029</script>e\u0301"}',
  'numbers that parsers change': '{"big":9007199254740993,"one":1.0,"exp":1e400}',
  'duplicate keys': '{"a":1,"a":2}',
};

const SECRETS: Record<string, string> = {
  vector: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  generated: generateSecret(),
  plain: 'correct horse battery staple',
  'as short as GitHub takes': 'x',
};

const cases = Object.entries(SECRETS).flatMap(([kind, secret]) =>
  Object.entries(BODIES).map(([what, body]) => ({ kind, secret, what, body })),
);

function sign(body: string, secrets: string[], timestamp = Math.floor(Date.now() / 1000)) {
  return signWebhook({ id: 'msg_1', timestamp, body, secrets, github: true });
}

describe.each(cases)('$kind secret, $what', ({ secret, body }) => {
  test('standardwebhooks accepts it, and not a changed byte', () => {
    const headers = sign(body, [secret]);
    const webhook = new Webhook(standardForm(secret));
    expect(webhook.verify(Buffer.from(body), headers)).toEqual(JSON.parse(body));
    expect(() => webhook.verify(`${body} `, headers)).toThrow();
  });

  test('stripe accepts it, and not a changed byte', () => {
    const header = sign(body, [secret])['x-ghost-signature'] ?? '';
    const accepted = Stripe.webhooks.constructEvent(Buffer.from(body), header, secret);
    expect(accepted).toEqual(JSON.parse(body));
    expect(() => Stripe.webhooks.constructEvent(`${body} `, header, secret)).toThrow();
  });

  test("GitHub's header is the plain HMAC of the bytes", () => {
    const hmac = createHmac('sha256', secret).update(Buffer.from(body)).digest('hex');
    expect(sign(body, [secret])['x-hub-signature-256']).toBe(`sha256=${hmac}`);
  });
});

describe('while a secret is changed', () => {
  const [newer, older] = [generateSecret(), 'an older secret'];
  const body = BODIES['emoji'] ?? '';
  const headers = sign(body, [newer, older]);

  test.each([newer, older])('receivers with either one accept (%#)', (secret) => {
    expect(() => new Webhook(standardForm(secret)).verify(body, headers)).not.toThrow();
    const ghost = headers['x-ghost-signature'] ?? '';
    expect(() => Stripe.webhooks.constructEvent(body, ghost, secret)).not.toThrow();
  });

  test('a receiver with neither refuses', () => {
    const secret = generateSecret();
    expect(() => new Webhook(secret).verify(body, headers)).toThrow();
    const ghost = headers['x-ghost-signature'] ?? '';
    expect(() => Stripe.webhooks.constructEvent(body, ghost, secret)).toThrow();
  });
});

test('stock libraries refuse a stale attempt', () => {
  const secret = generateSecret();
  const headers = sign('{}', [secret], Math.floor(Date.now() / 1000) - 400);
  expect(() => new Webhook(secret).verify('{}', headers)).toThrow(/too old/);
  const ghost = headers['x-ghost-signature'] ?? '';
  expect(() => Stripe.webhooks.constructEvent('{}', ghost, secret)).toThrow(/tolerance/);
});
