import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DEFAULT_POLICY, parseAddressPolicy } from './address-policy.js';
import { IPV4_REFUSED } from './address/address-ranges.js';
import { checkAddress } from './address/check-address.js';
import { checkUrl } from './url/check-url.js';
import { parseUrl } from './url/parse-url.js';

const RUNS = { numRuns: 2_000 };

/** An IPv4 address inside a refused range, as a number. */
const refusedIpv4 = fc
  .tuple(
    fc.constantFrom(...IPV4_REFUSED),
    fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  )
  .map(([{ range }, where]) => {
    const first = new DataView(range.bytes.buffer).getUint32(0);
    return first + Math.floor(where * 2 ** (32 - range.prefix));
  });

function octetsOf(value: number): number[] {
  return [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256);
}

/** 1 to 4 parts, as inet_aton reads them: the last part holds all octets that are left. */
function partsOf(value: number, count: number): number[] {
  const octets = octetsOf(value);
  return [...octets.slice(0, count - 1), value % 2 ** (8 * (5 - count))];
}

const FULLWIDTH = [...'０１２３４５６７８９'];
const CIRCLED = [...'⓪①②③④⑤⑥⑦⑧⑨'];
const SUPERSCRIPT = [...'⁰¹²³⁴⁵⁶⁷⁸⁹'];
const MATHEMATICAL = [...'𝟎𝟏𝟐𝟑𝟒𝟓𝟔𝟕𝟖𝟗'];

type Spelling = { base: 8 | 10 | 16; zeros: number; upper: boolean };
const spelling: fc.Arbitrary<Spelling> = fc.record({
  base: fc.constantFrom(8, 10, 16),
  zeros: fc.integer({ min: 0, max: 3 }),
  upper: fc.boolean(),
});

function spell(part: number, { base, zeros, upper }: Spelling): string {
  const digits = part.toString(base);
  const prefix = { 8: '0', 10: '', 16: '0x' }[base];
  // A leading zero would turn a decimal part into an octal one.
  const text = `${prefix}${base === 10 ? '' : '0'.repeat(zeros)}${digits}`;
  return upper ? text.toUpperCase() : text;
}

/** A host that WHATWG's parser turns back into the plain one. */
const disguise = fc.constantFrom<(host: string) => string>(
  (host) => host,
  (host) => `${host}.`,
  ...[FULLWIDTH, CIRCLED, SUPERSCRIPT, MATHEMATICAL].map(
    (digits) => (host: string) => host.replace(/[0-9]/g, (digit) => digits[Number(digit)] ?? digit),
  ),
  (host) => host.replaceAll('.', '。'),
  (host) => host.replaceAll('.', '．'),
  (host) => host.replace(/./, (char) => `%${char.charCodeAt(0).toString(16)}`),
  (host) => host.replaceAll('.', '%2e'),
  (host) => `\u00ad${host}`,
  (host) => `${host[0]}\t${host.slice(1)}`,
  (host) => `${host[0]}\u200b${host.slice(1)}`,
);

const frame = fc.constantFrom<(host: string) => string>(
  (host) => `http://${host}/`,
  (host) => `https://${host}/hook`,
  (host) => `HTTP://${host}:8080/`,
  (host) => `https://${host}:443?x`,
  (host) => `http:${host}`,
  (host) => `http:/${host}/`,
  (host) => `http:///${host}/`,
  (host) => `http:\\\\${host}\\`,
  (host) => `http://example.com@${host}/`,
  (host) => `http://:@${host}/`,
  (host) => ` http://${host}/`,
  (host) => `https://${host}/#fragment`,
  (host) => `https://${host}/\\@example.com`,
);

function hex(bytes: readonly number[]): string {
  return Array.from({ length: bytes.length / 2 }, (_, index) =>
    (((bytes[2 * index] ?? 0) << 8) | (bytes[2 * index + 1] ?? 0)).toString(16),
  ).join(':');
}

/** Every standard way for IPv6 to carry IPv4. */
const EMBEDDINGS: Record<string, (octets: number[]) => string> = {
  'mapped, hex': (octets) => `::ffff:${hex(octets)}`,
  'mapped, dotted': (octets) => `::FFFF:${octets.join('.')}`,
  'mapped, expanded': (octets) => `0:0:0:0:0:ffff:${hex(octets)}`,
  'compatible, hex': (octets) => `::${hex(octets)}`,
  'compatible, dotted': (octets) => `::${octets.join('.')}`,
  SIIT: (octets) => `::ffff:0:${hex(octets)}`,
  NAT64: (octets) => `64:ff9b::${hex(octets)}`,
  'NAT64, dotted': (octets) => `64:ff9b::${octets.join('.')}`,
  'NAT64 of the local network': (octets) => `64:ff9b:1::${hex(octets)}`,
  '6to4': (octets) => `2002:${hex(octets)}::1`,
  'Teredo server': (octets) => `2001:0:${hex(octets)}:0:ffff:1:2`,
  'Teredo client': (octets) => `2001::1:2:${hex(octets.map((octet) => octet ^ 0xff))}`,
  ISATAP: (octets) => `2a00:1450:1:2:0:5efe:${hex(octets)}`,
  'ISATAP, universal': (octets) => `2a00:1450:1:2:200:5efe:${hex(octets)}`,
};

describe('no IPv4 address inside a refused range is allowed', () => {
  test('in any spelling that the URL standard accepts', () => {
    let reached = 0;
    fc.assert(
      fc.property(
        refusedIpv4,
        fc.integer({ min: 1, max: 4 }),
        fc.array(spelling, { minLength: 4, maxLength: 4 }),
        disguise,
        frame,
        (value, count, spellings, hide, wrap) => {
          const parts = partsOf(value, count);
          const host = parts.map((part, at) => spell(part, spellings[at] as Spelling)).join('.');
          const url = wrap(hide(host));
          if (parseUrl(url)?.hostname === octetsOf(value).join('.')) reached += 1;
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
