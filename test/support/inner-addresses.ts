import { readFileSync } from 'node:fs';
import path from 'node:path';

import fc from 'fast-check';

import { REPOSITORY } from './ghost-processes.js';

/** Addresses that no webhook may reach, in every disguise that a URL or an answer of the DNS can give them. */

interface Ranges {
  ipv4Refuse: string[];
}
// The facts, not the table that the policy made of them.
const { ipv4Refuse } = JSON.parse(
  readFileSync(path.join(REPOSITORY, 'packages/policy/fixtures/address-ranges.json'), 'utf8'),
) as Ranges;

/** An IPv4 address inside a refused range, as a number; one in four is 127.0.0.1, where tests listen. */
export const refusedIpv4: fc.Arbitrary<number> = fc.oneof(
  { weight: 1, arbitrary: fc.constant(0x7f000001) },
  {
    weight: 3,
    arbitrary: fc
      .tuple(
        fc.constantFrom(...ipv4Refuse),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      )
      .map(([range, where]) => {
        const [address = '', prefix] = range.split('/');
        return numberOf(address) + Math.floor(where * 2 ** (32 - Number(prefix)));
      }),
  },
);

export function octetsOf(value: number): number[] {
  return [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256);
}

function numberOf(address: string): number {
  return address.split('.').reduce((sum, octet) => sum * 256 + Number(octet), 0);
}

/** 1 to 4 parts, as inet_aton reads them: the last part holds all octets that are left. */
function partsOf(value: number, count: number): number[] {
  const octets = octetsOf(value);
  return [...octets.slice(0, count - 1), value % 2 ** (8 * (5 - count))];
}

interface Spelling {
  base: 8 | 10 | 16;
  zeros: number;
  upper: boolean;
}
const spelling: fc.Arbitrary<Spelling> = fc.record({
  base: fc.constantFrom(8, 10, 16),
  zeros: fc.integer({ min: 0, max: 3 }),
  upper: fc.boolean(),
});

function spell(part: number, { base, zeros, upper }: Spelling): string {
  const prefix = { 8: '0', 10: '', 16: '0x' }[base];
  // An empty hex part is zero too; a leading zero would turn a decimal part into an octal one.
  const digits = base === 16 && part === 0 && zeros === 0 ? '' : part.toString(base);
  const text = `${prefix}${base === 10 ? '' : '0'.repeat(zeros)}${digits}`;
  return upper ? text.toUpperCase() : text;
}

const DIGITS = ['０１２３４５６７８９', '⓪①②③④⑤⑥⑦⑧⑨', '⁰¹²³⁴⁵⁶⁷⁸⁹', '𝟎𝟏𝟐𝟑𝟒𝟓𝟔𝟕𝟖𝟗', '₀₁₂₃₄₅₆₇₈₉'].map(
  (digits) => Array.from(digits),
);
const DOTS = ['。', '．', '｡', '%2e', '%2E', '%E3%80%82'];
/** Characters that the URL standard drops from a host. */
const DROPPED = ['\u00ad', '\u200b', '\u2060', '\ufe0f', '\t', '\n', '%C2%AD'];

type Change = (host: string) => string;

/** Changes after which WHATWG's parser reads the same host, most of them. */
const change = fc.oneof(
  fc.constant<Change>((host) => `${host}.`),
  fc
    .constantFrom(...DIGITS)
    .map<Change>((digits) => (host) => host.replace(/\d/gu, (one) => digits[Number(one)] ?? one)),
  fc.constantFrom(...DOTS).map<Change>((dot) => (host) => host.replaceAll('.', dot)),
  fc
    .constantFrom(...DROPPED)
    .map<Change>((dropped) => (host) => `${host.slice(0, 1)}${dropped}${host.slice(1)}`),
  fc.nat(20).map<Change>((at) => (host) => percentEncoded(host, at)),
);
const disguise = fc
  .array(change, { maxLength: 2 })
  .map<Change>((changes) => (host) => changes.reduce((text, one) => one(text), host));

function percentEncoded(host: string, at: number): string {
  const chars = Array.from(host);
  const place = at % chars.length;
  const bytes = Buffer.from(chars[place] ?? '', 'utf8');
  const encoded = Array.from(bytes, (byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
  return [...chars.slice(0, place), encoded, ...chars.slice(place + 1)].join('');
}

export interface SpelledIpv4 {
  value: number;
  host: string;
}

/** A refused address as inet_aton and the URL standard let it be spelled. */
export const spelledIpv4: fc.Arbitrary<SpelledIpv4> = fc
  .tuple(
    refusedIpv4,
    fc.integer({ min: 1, max: 4 }),
    fc.array(spelling, { minLength: 4, maxLength: 4 }),
    disguise,
  )
  .map(([value, count, spellings, hide]) => {
    const parts = partsOf(value, count).map((part, at) => spell(part, spellings[at] as Spelling));
    return { value, host: hide(parts.join('.')) };
  });

/** URLs around a host; `port` begins with a colon. */
export const frame = fc.constantFrom<(host: string, port: string) => string>(
  (host, port) => `http://${host}${port}/`,
  (host, port) => `http://${host}${port}/hook`,
  (host, port) => `HTTP://${host}${port}/`,
  (host, port) => `http://${host}${port}?x`,
  (host, port) => `https://${host}${port}`,
  (host, port) => `http:${host}${port}`,
  (host, port) => `http:/${host}${port}/`,
  (host, port) => `http:///${host}${port}/`,
  (host, port) => `http:\\\\${host}${port}\\`,
  (host, port) => `http://example.com@${host}${port}/`,
  (host, port) => `http://:@${host}${port}/`,
  (host, port) => ` http://${host}${port}/`,
  (host, port) => `https://${host}${port}/#fragment`,
  (host, port) => `https://${host}${port}/\\@example.com`,
  (host, port) => `http://${host}${port}\\@example.com/`,
);

function hex(bytes: readonly number[]): string {
  return Array.from({ length: bytes.length / 2 }, (_, index) =>
    (((bytes[2 * index] ?? 0) << 8) | (bytes[2 * index + 1] ?? 0)).toString(16),
  ).join(':');
}

/** Every standard way for IPv6 to carry IPv4. */
export const EMBEDDINGS: Readonly<Record<string, (octets: number[]) => string>> = {
  'mapped, hex': (octets) => `::ffff:${hex(octets)}`,
  'mapped, dotted': (octets) => `::FFFF:${octets.join('.')}`,
  'mapped, expanded': (octets) => `0:0:0:0:0:ffff:${hex(octets)}`,
  'compatible, hex': (octets) => `::${hex(octets)}`,
  'compatible, dotted': (octets) => `::${octets.join('.')}`,
  SIIT: (octets) => `::ffff:0:${hex(octets)}`,
  NAT64: (octets) => `64:ff9b::${hex(octets)}`,
  'NAT64, dotted': (octets) => `64:ff9b::${octets.join('.')}`,
  'NAT64 of the local network': (octets) => `64:ff9b:1::${hex(octets)}`,
  // RFC 6052 §2.2: the address around the byte 8, which is zero.
  'NAT64 of the local network, /48': ([a = 0, b = 0, c = 0, d = 0]) =>
    `64:ff9b:1:${hex([a, b, 0, c, d, 0])}::`,
  '6to4': (octets) => `2002:${hex(octets)}::1`,
  '6to4, a subnet': (octets) => `2002:${hex(octets)}:1:2:3:4:5`,
  'Teredo server': (octets) => `2001:0:${hex(octets)}:0:ffff:1:2`,
  'Teredo client': (octets) => `2001::1:2:${hex(octets.map((octet) => octet ^ 0xff))}`,
  ISATAP: (octets) => `2a00:1450:1:2:0:5efe:${hex(octets)}`,
  'ISATAP, universal': (octets) => `2a00:1450:1:2:200:5efe:${hex(octets)}`,
  'ISATAP, of a group': (octets) => `2a00:1450:1:2:300:5efe:${hex(octets)}`,
  'ISATAP, of the link': (octets) => `fe80::5efe:${hex(octets)}`,
  '6over4': (octets) => `fe80::${hex(octets)}`,
};

/** A refused address carried by an IPv6 address. */
export const embeddedIpv4: fc.Arbitrary<string> = fc
  .tuple(refusedIpv4, fc.constantFrom(...Object.values(EMBEDDINGS)))
  .map(([value, embed]) => embed(octetsOf(value)));

/** What an inner address looks like in an answer of the DNS: A, or AAAA. */
export const innerAnswer: fc.Arbitrary<string> = fc.oneof(
  refusedIpv4.map((value) => octetsOf(value).join('.')),
  // An AAAA record has bytes: the dotted form and the hex form are one.
  embeddedIpv4.filter((address) => !address.includes('.')),
  fc.constantFrom('::1', '::', 'fd00:ec2::254', 'fe80::1', 'fec0::1', 'ff02::1', '5f00::1'),
  fc.constantFrom('3fff::1', '100::1', '2001:db8::1', '2001:2::1', '2001:20::1', '4000::1'),
);
