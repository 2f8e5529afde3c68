import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import {
  EMBEDDINGS,
  frame,
  octetsOf,
  refusedIpv4,
  spelledIpv4,
} from '../../../test/support/inner-addresses.js';
import { DEFAULT_POLICY, parseAddressPolicy } from './address-policy.js';
import { checkAddress } from './address/check-address.js';
import { checkUrl } from './url/check-url.js';
import { parseUrl } from './url/parse-url.js';

const RUNS = { numRuns: 2_000 };

describe('no IPv4 address inside a refused range is allowed', () => {
  test('in any spelling that the URL standard accepts', () => {
    let reached = 0;
    fc.assert(
      fc.property(
        spelledIpv4,
        frame,
        fc.constantFrom('', ':443', ':8080'),
        (spelled, wrap, port) => {
          const url = wrap(spelled.host, port);
          if (parseUrl(url)?.hostname === octetsOf(spelled.value).join('.')) reached += 1;
          expect(checkUrl(url, DEFAULT_POLICY).ok).toBe(false);
        },
      ),
      RUNS,
    );
    // The disguises are real ones: most of them name the address to the parser.
    expect(reached).toBeGreaterThan(RUNS.numRuns / 2);
  });

  test.each(Object.entries(EMBEDDINGS))('%s', (_, embed) => {
    const nat64 = parseAddressPolicy({ allowNat64: true });
    if (!nat64.ok) throw new Error('the policy is well formed');
    fc.assert(
      fc.property(refusedIpv4, (value) => {
        const address = embed(octetsOf(value));
        for (const policy of [DEFAULT_POLICY, nat64.policy]) {
          expect(checkAddress(address, policy).allowed).toBe(false);
          expect(checkUrl(`http://[${address}]/`, policy).ok).toBe(false);
        }
      }),
      { numRuns: 300 },
    );
  });
});

test('whatever is typed, an accepted URL has an accepted host in its normal form', () => {
  const pieces = fc.constantFrom(
    ...['http:', 'https:', '//', '/', '\\', '@', ':', '#', '?', '%', '[', ']', '::1', '127.0.0.1'],
    ...[
      'localhost',
      'example.com',
      '.',
      '0x7f',
      '1',
      '2130706433',
      ' ',
      '\n',
      '%00',
      'é',
      '。',
      'ﬀ',
    ],
  );
  const input = fc.oneof(
    fc.webUrl({ withFragments: true, withQueryParameters: true }),
    fc.array(pieces, { maxLength: 12 }).map((parts) => parts.join('')),
    fc.integer({ min: 300, max: 2_100 }).map((count) => `https://example.com/${'é'.repeat(count)}`),
    fc.array(pieces, { maxLength: 8 }).map((parts) => `https://${parts.join('')}`),
    fc.string({ unit: 'binary', maxLength: 40 }).map((text) => `http://${text}`),
  );
  fc.assert(
    fc.property(input, (text) => {
      const verdict = checkUrl(text, DEFAULT_POLICY);
      if (!verdict.ok) return;
      const url = new URL(verdict.url);
      expect(url.href).toBe(verdict.url);
      expect([url.username, url.password, url.hash]).toEqual(['', '', '']);
      expect(url.hostname).toBe(verdict.host.includes(':') ? `[${verdict.host}]` : verdict.host);
      expect(checkUrl(verdict.url, DEFAULT_POLICY)).toEqual(verdict);
      if (verdict.literal) expect(checkAddress(verdict.host, DEFAULT_POLICY).allowed).toBe(true);
    }),
    RUNS,
  );
});
