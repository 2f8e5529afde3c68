import fc from 'fast-check';

/** Names that mean something to somebody, and parts of them. */
const NAMES = [
  'host',
  'content-length',
  'transfer-encoding',
  'connection',
  'expect',
  'te',
  'upgrade',
  'keep-alive',
  'proxy-authorization',
  'x-forwarded-for',
  'x-ghost-signature',
  'webhook-id',
  'traceparent',
  'metadata-flavor',
  'content-type',
  'accept',
  'authorization',
  'cookie',
  'x-api-key',
  '__proto__',
  'constructor',
  'x',
];
/** What is put into a name or a value: breaks, blanks, and letters that another case makes ASCII. */
const PIECES = [
  '\r\n',
  '\n',
  '\r',
  '\0',
  ' ',
  '\t',
  '\v',
  '\u0085',
  '\u2028',
  '\ufeff',
  '\u212a',
  '\u017f',
  '\u010d\u010a',
  '\ud800',
  ':',
  '_',
  '-',
  '\u00e9',
  '\x7f',
  'x: y',
  '\r\nx-injected: 1\r\n\r\nPOST / HTTP/1.1\r\nhost: a\r\n\r\n',
];

const piece = fc.constantFrom(...PIECES);
const inAnyCase = fc
  .tuple(fc.constantFrom(...NAMES), fc.array(fc.boolean(), { minLength: 24, maxLength: 24 }))
  .map(([name, upper]) =>
    Array.from(name, (letter, index) => (upper[index] ? letter.toUpperCase() : letter)).join(''),
  );
const dashed = inAnyCase.map((name) => name.replaceAll('-', '_'));
const broken = (text: fc.Arbitrary<string>) =>
  fc.tuple(text, piece, fc.nat()).map(([whole, part, at]) => {
    const cut = at % (whole.length + 1);
    return whole.slice(0, cut) + part + whole.slice(cut);
  });
const token = fc.stringMatching(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,70}$/u);
const printable = fc.stringMatching(/^[!-~]([\t -~]{0,80}[!-~])?$/u);

export const headerName = fc.oneof(
  { weight: 3, arbitrary: token },
  inAnyCase,
  dashed,
  broken(inAnyCase),
  broken(token),
  fc.string({ unit: 'binary', maxLength: 80 }),
);
export const headerValue = fc.oneof(
  { weight: 4, arbitrary: printable },
  broken(printable),
  fc.string({ unit: 'binary', maxLength: 200 }),
  fc.constantFrom('', 'x'.repeat(3_000), ' '.repeat(50_000), `a${'\t'.repeat(50_000)}`),
);
