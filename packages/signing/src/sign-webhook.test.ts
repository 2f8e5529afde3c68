import { describe, expect, test } from 'vitest';
import { generateSecret, standardForm } from './secret-key.js';
import { signWebhook } from './sign-webhook.js';

const VECTOR = {
  id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
  timestamp: 1614265330,
  body: '{"test": 2432232314}',
  secrets: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
};

describe('signWebhook', () => {
  test('gives the published vector of Standard Webhooks', () => {
    expect(signWebhook(VECTOR)).toEqual({
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
      'x-ghost-signature': expect.stringMatching(/^t=1614265330,v1=[0-9a-f]{64}$/),
    });
  });

  test("gives GitHub's published vector", () => {
    const headers = signWebhook({
      ...VECTOR,
      body: 'Hello, World!',
      secrets: ["It's a Secret to Everybody"],
      github: true,
    });
    expect(headers['x-hub-signature-256']).toBe(
      'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
    );
  });

  test('signs the UTF-8 bytes, whether they come as text or as bytes', () => {
    const body = '{"text":"👩‍👧 日本 \ud800"}';
    expect(signWebhook({ ...VECTOR, body })).toEqual(
      signWebhook({ ...VECTOR, body: Buffer.from(body) }),
    );
  });

  test('signs with each live secret, the newest first; GitHub gets the newest', () => {
    const [newer, older] = [generateSecret(), 'older'];
    const both = signWebhook({ ...VECTOR, secrets: [newer, older], github: true });
    const alone = [newer, older].map((secret) =>
      signWebhook({ ...VECTOR, secrets: [secret], github: true }),
    );
    expect(both['webhook-signature']).toBe(
      alone.map((headers) => headers['webhook-signature']).join(' '),
    );
    const ghost = alone.map((headers) => headers['x-ghost-signature']?.split(',')[1]);
    expect(both['x-ghost-signature']).toBe(`t=1614265330,${ghost.join(',')}`);
    expect(both['x-hub-signature-256']).toBe(alone[0]?.['x-hub-signature-256']);
  });

  test.each([
    ['no secret', { secrets: [] }],
    ['an empty secret', { secrets: [''] }],
    ['whsec_ without a key', { secrets: ['whsec_'] }],
    ['whsec_ with what is not base64', { secrets: ['whsec_not base64 s3cr3t'] }],
    ['one bad secret of two', { secrets: ['good', 'whsec_%'] }],
    ['milliseconds and fractions', { timestamp: 1614265330.5 }],
    ['no time', { timestamp: Number.NaN }],
    ['an id with a dot', { id: 'a.b' }],
    ['an id with a line break', { id: 'a\nb' }],
    ['an empty id', { id: '' }],
  ])('never signs with %s, and says so without the secret', (_, change) => {
    expect(() => signWebhook({ ...VECTOR, ...change })).toThrow(TypeError);
    expect(() => signWebhook({ ...VECTOR, ...change })).not.toThrow(/s3cr3t/);
  });
});

describe('secrets', () => {
  test('a generated one is whsec_ and 24 random bytes', () => {
    const secrets = Array.from({ length: 50 }, generateSecret);
    expect(new Set(secrets).size).toBe(secrets.length);
    for (const secret of secrets) expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{32}$/);
  });

  test('the standard form of a plain secret is whsec_ and its base64; a prefixed one stays', () => {
    expect(standardForm('plain')).toBe('whsec_cGxhaW4=');
    expect(standardForm('whsec_cGxhaW4=')).toBe('whsec_cGxhaW4=');
    const signed = (secret: string) =>
      signWebhook({ ...VECTOR, secrets: [secret] })['webhook-signature'];
    expect(signed(standardForm('plain'))).toBe(signed('plain'));
  });
});
