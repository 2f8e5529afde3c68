import { TEST_CERTIFICATE, TEST_CERTIFICATE_KEY } from '../../tls-certificate.js';
import { answers, delivered, fails, type HostileCase } from './hostile-case.js';
import { drips, head, OK, says } from './server-moves.js';

const LATE = { ends: 'at its deadline' } as const;
const NO_ANSWER = fails('response_timeout');
const nothing = () => undefined;

/** Servers that keep the sender waiting, in each phase. */
export const SILENT_ANSWERS: readonly HostileCase[] = [
  {
    what: 'takes the connection and says nothing',
    ...LATE,
    at: 'accept',
    play: nothing,
    expected: NO_ANSWER,
  },
  {
    what: 'takes the connection and reads nothing',
    ...LATE,
    at: 'accept',
    play: (socket) => void setImmediate(() => socket.pause()),
    expected: NO_ANSWER,
  },
  {
    what: 'never answers the TLS handshake',
    vector: 'resp-004',
    secure: 'bare',
    ...LATE,
    at: 'accept',
    play: nothing,
    expected: fails('tls_timeout'),
  },
  {
    what: 'stops in the middle of its part of the TLS handshake',
    secure: 'bare',
    ...LATE,
    at: 'accept',
    // A handshake record of 80 bytes is announced, and the first of a server hello come.
    play: says('\x16\x03\x03\x00\x50\x02\x00\x00\x4c\x03\x03'),
    expected: fails('tls_timeout'),
  },
  {
    what: 'says nothing after the TLS handshake',
    secure: { cert: TEST_CERTIFICATE, key: TEST_CERTIFICATE_KEY },
    ...LATE,
    play: nothing,
    expected: NO_ANSWER,
  },
  { what: 'reads the request and says nothing', ...LATE, play: nothing, expected: NO_ANSWER },
  { what: 'stops in its status line', ...LATE, play: says('HTTP/1.1 2'), expected: NO_ANSWER },
  { what: 'stops in its head', ...LATE, play: says(`${OK}\r\nx-a: b\r\nx-`), expected: NO_ANSWER },
  {
    what: 'stops before the empty line',
    ...LATE,
    play: says(`${OK}\r\nx-a: b\r\n`),
    expected: NO_ANSWER,
  },
  {
    what: 'says 103 and then nothing',
    ...LATE,
    play: says(head('HTTP/1.1 103 Early Hints', 'link: </a>')),
    expected: NO_ANSWER,
  },
  {
    what: 'stops after a head of 200',
    ...LATE,
    play: says(head(OK, 'content-length: 10')),
    expected: delivered(200, { body: '' }),
  },
  {
    what: 'stops after a head of 500',
    ...LATE,
    play: says(head('HTTP/1.1 500 No', 'content-length: 10')),
    expected: answers(500, 'http_5xx'),
  },
  {
    what: 'stops in its body',
    ...LATE,
    play: says(head(OK, 'content-length: 10'), 'abc'),
    expected: delivered(200, { body: 'abc' }),
  },
  {
    what: 'stops in a chunk',
    ...LATE,
    play: says(head(OK, 'transfer-encoding: chunked'), 'a\r\nabc'),
    expected: delivered(200, { body: 'abc' }),
  },
  {
    what: 'stops in its trailers',
    ...LATE,
    play: says(head(OK, 'transfer-encoding: chunked'), '3\r\nabc\r\n0\r\nx-a: b'),
    expected: delivered(200, { body: 'abc' }),
  },
  {
    what: 'ends a body without a length never',
    ...LATE,
    play: says(head(OK), 'abc'),
    expected: delivered(200, { body: 'abc' }),
  },
  {
    what: 'drips its status line',
    ...LATE,
    play: drips('', `HTTP/1.1 200 ${'O'.repeat(99)}`),
    expected: NO_ANSWER,
  },
  {
    what: 'drips its head, field by field',
    vector: 'resp-006',
    ...LATE,
    play: (socket, pace) => {
      socket.write(`${OK}\r\n`);
      const timer = setInterval(() => socket.write('x-a: b\r\n'), pace.dripMs);
      socket.on('close', () => clearInterval(timer));
    },
    expected: NO_ANSWER,
  },
  { what: 'drips a field', ...LATE, play: drips(`${OK}\r\nx-a: `, 'b'), expected: NO_ANSWER },
  {
    what: 'drips answers of 103',
    ...LATE,
    play: drips('', head('HTTP/1.1 103 Early Hints')),
    expected: NO_ANSWER,
  },
  {
    what: 'drips the body of a 200',
    vector: 'resp-007',
    ...LATE,
    play: drips(head(OK, 'content-length: 100000'), 'x'),
    expected: delivered(),
  },
  {
    what: 'drips the body of a 500',
    ...LATE,
    play: drips(head('HTTP/1.1 500 No', 'content-length: 100000'), 'x'),
    expected: answers(500, 'http_5xx'),
  },
  {
    what: 'drips chunks',
    ...LATE,
    play: drips(head(OK, 'transfer-encoding: chunked'), '1\r\nx\r\n'),
    expected: delivered(),
  },
  {
    what: 'drips a chunk extension',
    ...LATE,
    play: drips(`${head(OK, 'transfer-encoding: chunked')}1;`, 'x'),
    expected: delivered(),
  },
];
