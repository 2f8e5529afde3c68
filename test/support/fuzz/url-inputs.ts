import { readFileSync } from 'node:fs';
import path from 'node:path';

import fc from 'fast-check';

import { REPOSITORY } from '../ghost-processes.js';
import { embeddedIpv4, frame, innerAnswer, spelledIpv4 } from '../inner-addresses.js';

const vectors = JSON.parse(
  readFileSync(path.join(REPOSITORY, 'packages/policy/fixtures/url-vectors.json'), 'utf8'),
) as { input: string }[];

const PIECES = [
  ...['http:', 'https:', 'HTTPS:', 'file:', 'ws:', 'blob:', 'javascript:', '//', '/', '///', '\\'],
  ...['@', ':', '::', '#', '?', '%', '%25', '%00', '%2e', '%40', '%2f', '%5c', '[', ']', '.', '..'],
  ...[
    '。',
    '．',
    '｡',
    '\u200b',
    '\u00ad',
    '\ufe0f',
    '\u202e',
    ' ',
    '\t',
    '\n',
    '\r',
    '\0',
    '\ud800',
  ],
  ...['127.0.0.1', '::1', '0x7f', '0177', '2130706433', '0', '1', '255', '::ffff:', '64:ff9b::'],
  ...['169.254.169.254', '10.0.0.1', '8.8.8.8', '2600::1', '%lo', '%25lo', '５', '①', 'ⓐ'],
  ...['localhost', 'example.com', 'example', 'internal', 'local', 'metadata', 'xn--', 'bücher'],
  ...[
    'user',
    'pass',
    '80',
    '443',
    '8080',
    '22',
    '6379',
    '65536',
    '0000080',
    'e',
    '_',
    '-',
    'ß',
    'İ',
  ],
] as const;

const pieces = fc
  .array(fc.constantFrom(...PIECES), { maxLength: 10 })
  .map((parts) => parts.join(''));

const whole = fc.oneof(
  fc.constantFrom(...vectors.map(({ input }) => input)),
  fc.webUrl({ withFragments: true, withQueryParameters: true }),
  fc.tuple(spelledIpv4, frame).map(([{ host }, wrap]) => wrap(host, '')),
  fc.tuple(embeddedIpv4, frame).map(([host, wrap]) => wrap(`[${host}]`, ':8080')),
  fc.tuple(fc.ipV4(), frame).map(([host, wrap]) => wrap(host, '')),
  fc.tuple(fc.ipV6(), frame).map(([host, wrap]) => wrap(`[${host}]`, '')),
  fc.domain().map((host) => `https://${host}/`),
);

/** A URL with some of its characters changed, taken out or added to. */
const mutated = fc
  .tuple(
    whole,
    fc.array(fc.tuple(fc.nat(80), fc.nat(3), fc.constantFrom(...PIECES)), { maxLength: 4 }),
  )
  .map(([url, changes]) =>
    changes.reduce((text, [at, removed, piece]) => {
      const from = at % (text.length + 1);
      return text.slice(0, from) + piece + text.slice(from + removed);
    }, url),
  );

/** What somebody may give a hook as its URL, well formed or not. */
export const urlInput: fc.Arbitrary<string> = fc.oneof(
  { weight: 4, arbitrary: mutated },
  { weight: 2, arbitrary: whole },
  { weight: 2, arbitrary: pieces.map((rest) => `https://${rest}`) },
  { weight: 1, arbitrary: pieces },
  {
    weight: 1,
    arbitrary: fc
      .tuple(whole, fc.constantFrom('é', 'a', '%', '日'), fc.nat(2_100))
      .map(([url, char, count]) => url + char.repeat(count)),
  },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 60 }) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 60 }).map((t) => `http://${t}`) },
);

/** What the DNS says of a name: public addresses, inner ones among them or not, or none. */
export const dnsAnswers: fc.Arbitrary<string[]> = fc.oneof(
  fc.array(fc.constantFrom('93.184.215.14', '2606:4700:4700::1111'), { maxLength: 3 }),
  fc.array(fc.oneof(innerAnswer, fc.ipV4(), fc.ipV6()), { maxLength: 4 }),
);
