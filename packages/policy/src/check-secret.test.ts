import { describe, expect, test } from 'vitest';
import { checkSecret } from './check-secret.js';

const base64 = (bytes: number) => Buffer.alloc(bytes, 0xab).toString('base64');

describe('checkSecret', () => {
  test.each([
    'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    `whsec_${base64(24)}`,
    `whsec_${base64(64)}`,
    'x',
    'correct horse battery staple',
    '!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~',
    'a'.repeat(255),
  ])('accepts %j', (secret) => {
    expect(checkSecret(secret)).toEqual({ ok: true });
  });

  test.each([
    ['', 'secret_empty'],
    ['   ', 'secret_empty'],
    ['a'.repeat(256), 'secret_too_long'],
    ['********', 'secret_mask'],
    ['•••••••••', 'secret_mask'],
    ['<secret>', 'secret_mask'],
    ['[REDACTED]', 'secret_mask'],
    ['{{ webhook_secret }}', 'secret_mask'],
    ['{{ secrets.WEBHOOK }}', 'secret_mask'],
    ['${{ secrets.WEBHOOK }}', 'secret_mask'],
    ['${WEBHOOK_SECRET}', 'secret_mask'],
    ['xxxxxxxx', 'secret_mask'],
    ['XXXXXXXXXXXX', 'secret_mask'],
    ['whsec_********', 'secret_mask'],
    ['whsec_', 'secret_mask'],
    ['whsec_MfKQ********', 'secret_mask'],
    ['undefined', 'secret_mask'],
    ['[object Object]', 'secret_mask'],
    [' leading', 'secret_not_printable'],
    ['trailing\n', 'secret_not_printable'],
    ['pässword', 'secret_not_printable'],
    ['nul\u0000', 'secret_not_printable'],
    ['whsec_not base64', 'secret_not_base64'],
    [`whsec_${base64(25).replaceAll('=', '')}`, 'secret_not_base64'],
    ['whsec_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_', 'secret_not_base64'],
    [`whsec_${base64(23)}`, 'secret_wrong_size'],
    [`whsec_${base64(65)}`, 'secret_wrong_size'],
  ])('refuses %j: %s', (secret, reason) => {
    const verdict = checkSecret(secret);
    expect(verdict).toMatchObject({ ok: false, reason });
    if (!verdict.ok && secret.length > 8) expect(verdict.message).not.toContain(secret);
  });
});
