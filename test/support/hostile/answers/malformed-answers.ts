import { delivered, fails, type HostileCase } from './hostile-case.js';
import { head, OK, says } from './server-moves.js';

const BAD = fails('bad_response');
const EMPTY = 'content-length: 0';

const startLine = (line: string, expected = BAD): HostileCase => ({
  what: `the status line "${line}"`,
  play: says(head(line, EMPTY)),
  expected,
});
const field = (what: string, line: string, expected = BAD): HostileCase => ({
  what,
  play: says(head(OK, line, EMPTY)),
  expected,
});
const framed = (what: string, lines: string[], body = '', expected = BAD): HostileCase => ({
  what,
  play: says(head(OK, ...lines) + body),
  expected,
});

const STATUS_LINES: readonly HostileCase[] = [
  startLine('HTTP/1.1 abc'),
  startLine('HTTP/1.1 20 OK'),
  startLine('HTTP/1.1 2000 OK'),
  startLine('HTTP/1.1 -200 OK'),
  startLine('HTTP/1.1  200 OK'),
  startLine('HTTP/1.1'),
  startLine('HTTP/2.0 200 OK'),
  startLine('HTTP/0.9 200 OK'),
  startLine('HTTP/3.7 200 OK'),
  startLine('HTTP/11 200 OK'),
  startLine('http/1.1 200 OK'),
  startLine('ICY 200 OK'),
  startLine('SSH-2.0-OpenSSH_9.2'),
  startLine(' HTTP/1.1 200 OK'),
  startLine('POST / HTTP/1.1'),
  startLine('HTTP/1.1 2OO OK'),
  startLine('HTTP/1.1 +20 OK'),
  startLine('HTTP/1.1 200OK'),
  startLine('HTTP/1.1\t200 OK'),
  startLine('HTTP/1.10 200 OK'),
  startLine('HTTP/1.1 1000 OK'),
  startLine('HTTP/1.1 099 OK'),
  startLine('HTTP/1.1 200 O\rK'),
  startLine('\r\nHTTP/1.1 200 OK'),
  startLine('<html>HTTP/0.9</html>'),
  startLine('HTTP/1.1 000 OK', fails('bad_response', 'http_unknown_status')),
  startLine('HTTP/1.1 600 Odd', {
    verdict: 'retry',
    reasons: ['http_unknown_status'],
    status: 600,
    kept: true,
  }),
  startLine('HTTP/1.1 200 O\0K', delivered(200, { kept: true })),
  {
    ...startLine('HTTP/1.1 999 Odd', {
      verdict: 'retry',
      reasons: ['http_unknown_status'],
      status: 999,
      kept: true,
    }),
    vector: 'resp-026',
  },
  startLine('HTTP/1.1 200', delivered(200, { kept: true })),
  startLine('HTTP/1.1 200 ', delivered(200, { kept: true })),
  startLine('HTTP/1.1 200 caf\xe9 \xff', delivered(200, { kept: true })),
  {
    what: 'an HTTP/2 preface of settings',
    play: says('\x00\x00\x12\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x80'),
    expected: BAD,
  },
  { what: 'a TLS alert', play: says('\x15\x03\x03\x00\x02\x02\x16'), expected: BAD },
];

const ANNOUNCED: readonly HostileCase[] = [
  {
    what: '101 unasked',
    play: says(
      head('HTTP/1.1 101 Switching Protocols', 'upgrade: websocket', 'connection: upgrade'),
      '\x81\x05hello',
    ),
    expected: BAD,
  },
  {
    what: '101 without fields, then 200',
    play: says(head('HTTP/1.1 101 Switching Protocols'), head(OK, EMPTY)),
    expected: BAD,
  },
  {
    what: '100 unasked, then 200',
    vector: 'resp-009',
    play: says(head('HTTP/1.1 100 Continue'), head(OK, EMPTY)),
    expected: BAD,
  },
  {
    what: '102 and 103, then 200',
    play: says(
      head('HTTP/1.1 102 Processing'),
      head('HTTP/1.1 103 Early Hints', 'x-early: 1'),
      head(OK, EMPTY),
    ),
    expected: delivered(200, { kept: true }),
  },
  {
    what: '103 with a body that looks like a length',
    play: says(head('HTTP/1.1 103 Early Hints', 'content-length: 400'), head(OK, EMPTY)),
    expected: delivered(200, { kept: true }),
  },
];

const FIELDS: readonly HostileCase[] = [
  field('a field without a colon', 'x-no-colon'),
  field('a field without a name', ': y'),
  field('a blank before the colon', 'x : y'),
  field('a tab before the colon', 'x\t: y'),
  field('a blank in a name', 'x y: z'),
  field('a blank before the name', ' x: y'),
  field('NUL in a name', 'x\0y: z'),
  field('NUL in a value', 'x: y\0z', delivered(200, { kept: true })),
  field('a bare CR in a value', 'x: y\rz: a', delivered(200, { kept: true })),
  field('latin-1 in a name', 'caf\xe9: y'),
  field('latin-1 and no UTF-8 in a value', 'x: caf\xe9 \xff\xfe', delivered(200, { kept: true })),
  field('controls in a value', 'x: a\x01\x1b[31mb\x7f', delivered(200, { kept: true })),
  field('a folded field', 'x: y\r\n z', delivered(200, { kept: true })),
  { what: 'lines that end by LF alone', play: says(`${OK}\nx: y\n${EMPTY}\n\n`), expected: BAD },
  {
    what: 'lines that end by LF, CR',
    play: says(`${OK}\n\rx: y\n\r${EMPTY}\n\r\n\r`),
    expected: BAD,
  },
];

const LENGTHS: readonly HostileCase[] = [
  {
    ...framed('two lengths', ['content-length: 3', 'content-length: 5'], 'abcde'),
    vector: 'resp-019',
  },
  framed('two lengths in one field', ['content-length: 3, 5'], 'abcde'),
  framed(
    'the same length twice',
    ['content-length: 3', 'content-length: 3'],
    'abc',
    delivered(200, { kept: true }),
  ),
  framed(
    'a length and chunks',
    ['content-length: 3', 'transfer-encoding: chunked'],
    '3\r\nabc\r\n0\r\n\r\n',
    delivered(200),
  ),
  framed(
    'chunks and a length',
    ['transfer-encoding: chunked', 'content-length: 3'],
    '3\r\nabc\r\n0\r\n\r\n',
    delivered(200),
  ),
  framed('a negative length', ['content-length: -1'], 'abc'),
  framed('a length with a sign', ['content-length: +3'], 'abc'),
  framed('a length with an underscore', ['content-length: 3_0'], 'abc'),
  framed('a length of fullwidth digits', ['content-length: \xef\xbc\x93'], 'abc'),
  framed('a length with a blank before its colon', ['content-length : 3'], 'abc'),
  framed('a length that is spelled twice', ['content-length: 3', 'content-length: 03'], 'abc'),
  framed(
    'a length with a leading zero',
    ['content-length: 03'],
    'abc',
    delivered(200, { body: 'abc', kept: true }),
  ),
  framed('a length of 30 digits', [`content-length: ${'9'.repeat(30)}`], 'abc'),
  framed('a length in hexadecimal', ['content-length: 0x3'], 'abc'),
  framed('a length with a point', ['content-length: 3.0'], 'abc'),
  framed('a length with a blank that is not one of HTTP', ['content-length: 3\xa0'], 'abc'),
  framed('a length with a vertical tab', ['content-length: \v3'], 'abc'),
  framed('an empty length', ['content-length:'], 'abc'),
  framed('a length of two words', ['content-length: 3 3'], 'abc'),
];

/** Servers that speak almost HTTP/1.1. */
export const MALFORMED_ANSWERS: readonly HostileCase[] = [
  ...STATUS_LINES,
  ...ANNOUNCED,
  ...FIELDS,
  ...LENGTHS,
];
