import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { generateSecret } from './secret-key.js';
import { signWebhook } from './sign-webhook.js';
import {
  type ReceivedWebhook,
  type VerifiedWebhook,
  verifyWebhook,
  WebhookVerificationError,
} from './verify-webhook.js';

const NOW = 1_700_000_000;
const SECRET = generateSecret();
const BODY = '{"text":"👩‍👧 日本 </script>"}';
const HEADERS = signWebhook({ id: 'job-1', timestamp: NOW, body: BODY, secrets: [SECRET] });
const RECEIVED: ReceivedWebhook = { headers: HEADERS, body: BODY, secret: SECRET, now: NOW };

function outcome(change: Partial<ReceivedWebhook>): VerifiedWebhook | string {
  try {
    return verifyWebhook({ ...RECEIVED, ...change });
  } catch (error) {
    if (error instanceof WebhookVerificationError) return error.code;
    throw error;
  }
}

const without = (name: string) =>
  Object.fromEntries(Object.entries(HEADERS).filter(([key]) => key !== name));

describe('an authentic webhook is accepted', () => {
  const standard = { scheme: 'standard', id: 'job-1', timestamp: NOW };
  const ghost = { scheme: 'ghost', id: null, timestamp: NOW };

  test('by each scheme, the standard one first', () => {
    expect(outcome({})).toEqual(standard);
    expect(outcome({ scheme: 'ghost' })).toEqual(ghost);
    expect(outcome({ headers: without('webhook-signature') })).toEqual(ghost);
  });

  test('from any shape of headers and body', () => {
    const upper = Object.fromEntries(
      Object.entries(HEADERS).map(([name, value]) => [name.toUpperCase(), [value]]),
    );
    expect(outcome({ headers: upper, body: Buffer.from(BODY) })).toEqual(standard);
    expect(
      outcome({ headers: new Headers(HEADERS), body: new TextEncoder().encode(BODY) }),
    ).toEqual(standard);
  });

  test('while either side changes the secret', () => {
    const next = generateSecret();
    const both = signWebhook({ id: 'job-1', timestamp: NOW, body: BODY, secrets: [next, SECRET] });
    for (const scheme of ['standard', 'ghost'] as const) {
      expect(outcome({ headers: both, scheme })).toEqual({ standard, ghost }[scheme]);
      expect(outcome({ headers: both, secret: next, scheme })).toEqual({ standard, ghost }[scheme]);
      expect(outcome({ secret: [next, SECRET], scheme })).toEqual({ standard, ghost }[scheme]);
    }
  });

  test('within the tolerance, both ways', () => {
    expect(outcome({ now: NOW + 300 })).toEqual(standard);
    expect(outcome({ now: NOW - 300 })).toEqual(standard);
    expect(outcome({ now: NOW + 3600, toleranceSeconds: 3600 })).toEqual(standard);
  });
});

describe('everything else is refused with its code', () => {
  test.each(['standard', 'ghost'] as const)('%s', (scheme) => {
    expect(outcome({ scheme, body: `${BODY} ` })).toBe('no_match');
    expect(outcome({ scheme, secret: generateSecret() })).toBe('no_match');
    expect(outcome({ scheme, now: NOW + 301 })).toBe('timestamp_too_old');
    expect(outcome({ scheme, now: NOW - 301 })).toBe('timestamp_too_new');
    expect(outcome({ scheme, headers: {} })).toBe('missing_header');
    expect(outcome({ scheme, secret: '' })).toBe('unusable_secret');
    expect(outcome({ scheme, secret: [] })).toBe('unusable_secret');
    expect(outcome({ scheme, secret: undefined })).toBe('unusable_secret');
    expect(outcome({ scheme, toleranceSeconds: Number.NaN })).toBe('timestamp_too_old');
    expect(outcome({ scheme, now: Number.NaN })).toBe('timestamp_too_old');
    expect(outcome({ scheme, secret: [SECRET, ''] })).toBe('unusable_secret');
    expect(outcome({ scheme, body: JSON.parse(BODY) })).toBe('body_not_raw');
  });

  test('a timestamp or id that is not the signed one', () => {
    const with_ = (name: string, value: string) => ({ headers: { ...HEADERS, [name]: value } });
    expect(outcome(with_('webhook-id', 'job-2'))).toBe('no_match');
    expect(outcome(with_('webhook-timestamp', String(NOW + 1)))).toBe('no_match');
    expect(outcome(with_('webhook-timestamp', `${NOW}.0`))).toBe('malformed_header');
    expect(outcome(with_('webhook-timestamp', `0${NOW}`))).toBe('malformed_header');
    const [time, signature] = (HEADERS['x-ghost-signature'] ?? '').split(',');
    const ghost = (value: string) => ({
      ...with_('x-ghost-signature', value),
      scheme: 'ghost' as const,
    });
    expect(outcome(ghost(`t=${NOW + 1},${signature}`))).toBe('no_match');
    expect(outcome(ghost(`${time},t=${NOW + 1},${signature}`))).toBe('malformed_header');
    expect(outcome(ghost(signature ?? ''))).toBe('malformed_header');
    expect(outcome(ghost(`${time}`))).toBe('no_match');
    expect(outcome(ghost(`${time},v0=${signature?.slice(3)}`))).toBe('no_match');
  });

  test.each(['v1,', 'v1', 'v1,AAAA', 'v2,x', '', 'v1,"', 'v1,AA '.repeat(1000)])(
    'a signature like %j',
    (value) => {
      const headers = { ...HEADERS, 'webhook-signature': value };
      expect(outcome({ headers, scheme: 'standard' })).toBe('no_match');
    },
  );

  test('a header that came twice', () => {
    const headers = { ...HEADERS, 'webhook-id': ['job-1', 'job-1'] };
    expect(outcome({ headers })).toBe('malformed_header');
  });

  test('whatever the headers hold, it is a verdict, never another error', () => {
    const names = fc.constantFrom(...Object.keys(HEADERS));
    const headers = fc.dictionary(names, fc.string({ unit: 'binary', maxLength: 80 }));
    fc.assert(
      fc.property(headers, fc.constantFrom('standard', 'ghost'), (changed, scheme) => {
        const verdict = outcome({ headers: { ...HEADERS, ...changed }, scheme });
        const own = scheme === 'ghost' ? 'x-ghost-' : 'webhook-';
        if (Object.keys(changed).some((name) => name.startsWith(own))) {
          expect(verdict).toBeTypeOf('string');
        }
      }),
    );
  });

  test.each([
    ['webhook-signature', 'standard'],
    ['x-ghost-signature', 'ghost'],
  ] as const)('any other text of %s, although it may decode to the same bytes', (name, scheme) => {
    const signature = HEADERS[name] ?? '';
    const start = signature.indexOf(scheme === 'standard' ? 'v1,' : 'v1=') + 3;
    const others = Array.from(signature.slice(start), (one, index) => {
      const at = start + index;
      const other = one === one.toUpperCase() ? one.toLowerCase() : one.toUpperCase();
      const next = String.fromCharCode(one.charCodeAt(0) ^ 1);
      return [other, next, '', ` ${one}`].map(
        (instead) => signature.slice(0, at) + instead + signature.slice(at + 1),
      );
    }).flat();
    const tails = ['=', '!', '00', '\n'].map((tail) => signature + tail);
    for (const changed of [...others, ...tails].filter((one) => one !== signature)) {
      const headers = { ...HEADERS, [name]: changed };
      expect(outcome({ headers, scheme }), changed).toBeTypeOf('string');
    }
  });

  test('flipping any byte of the body', () => {
    const bytes = Buffer.from(BODY);
    for (let index = 0; index < bytes.length; index += 1) {
      const changed = Buffer.from(bytes);
      changed[index] = (changed[index] ?? 0) ^ 1;
      expect(outcome({ body: changed })).toBe('no_match');
      expect(outcome({ body: changed, scheme: 'ghost' })).toBe('no_match');
    }
  });
});
