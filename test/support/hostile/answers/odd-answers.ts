import { answers, delivered, type HostileCase } from './hostile-case.js';
import { head, OK, says, saysAndEnds } from './server-moves.js';

const EMPTY = 'content-length: 0';
const KEPT = { kept: true } as const;
const redirect = (status: number, location: string, vector?: string): HostileCase => ({
  what: `${status} to ${location}`,
  ...(vector === undefined ? {} : { vector }),
  play: says(head(`HTTP/1.1 ${status} Elsewhere`, `location: ${location}`, EMPTY)),
  expected: answers(status, 'redirect_not_followed', KEPT),
});

/** Complete answers that nobody asked for, or that are hard to keep. */
export const ODD_ANSWERS: readonly HostileCase[] = [
  redirect(302, 'http://169.254.169.254/', 'resp-001'),
  redirect(307, '/elsewhere', 'resp-002'),
  redirect(308, '//127.0.0.1/'),
  {
    what: 'a refresh to somewhere else',
    play: says(head(OK, 'refresh: 0; url=http://127.0.0.1/', EMPTY)),
    expected: delivered(200, KEPT),
  },
  {
    what: '410',
    vector: 'resp-031',
    play: says(head('HTTP/1.1 410 Gone', EMPTY)),
    expected: { verdict: 'hold', reasons: ['gone'], status: 410, ...KEPT },
  },
  {
    what: '429 with Retry-After',
    vector: 'resp-032',
    play: says(head('HTTP/1.1 429 Slow', 'retry-after: 30', EMPTY)),
    expected: answers(429, 'rate_limited', KEPT),
  },
  {
    what: '503 with an endless Retry-After',
    vector: 'resp-024',
    play: says(head('HTTP/1.1 503 Later', 'retry-after: 999999999', EMPTY)),
    expected: answers(503, 'unavailable', KEPT),
  },
  {
    what: 'NUL in its body',
    play: says(head(OK, 'content-length: 5'), 'a\0b\0\0'),
    expected: delivered(200, { body: 'a\uFFFDb\uFFFD\uFFFD', ...KEPT }),
  },
  {
    what: 'latin-1 in its body',
    play: says(head(OK, 'content-length: 5'), 'caf\xe9\xff'),
    expected: delivered(200, { body: 'caf\uFFFD\uFFFD', ...KEPT }),
  },
  {
    what: 'half a character at the end of its body',
    play: says(head(OK, 'content-length: 3'), 'a\xf0\x9f'),
    expected: delivered(200, { body: 'a\uFFFD', ...KEPT }),
  },
  {
    what: 'a body of 300 KB that is no UTF-8',
    play: says(head(OK, 'content-length: 300000'), '\xff'.repeat(300_000)),
    expected: delivered(200, { body: '\uFFFD'.repeat(5_461) }),
  },
  {
    what: '204 with a body',
    play: says(head('HTTP/1.1 204 No Content', 'content-length: 5'), 'hello'),
    expected: delivered(204, { body: '' }),
  },
  {
    what: '304 with a body',
    play: says(head('HTTP/1.1 304 Not Modified', 'content-length: 5'), 'hello'),
    expected: answers(304, 'redirect_not_followed', { body: '' }),
  },
  {
    what: 'two answers in one write',
    vector: 'resp-021',
    play: says(`${head(OK, EMPTY)}${head('HTTP/1.1 500 Second', EMPTY)}`),
    expected: delivered(200, { body: '' }),
  },
  {
    what: 'bytes after its end',
    play: says(`${head(OK, 'content-length: 3')}abcdef`),
    expected: delivered(200, { body: 'abc' }),
  },
  {
    what: 'bytes after its last chunk',
    play: says(`${head(OK, 'transfer-encoding: chunked')}3\r\nabc\r\n0\r\n\r\nmore`),
    expected: delivered(200, { body: 'abc' }),
  },
  {
    what: 'an answer that says close, and does not close',
    play: says(head(OK, 'connection: close', EMPTY)),
    expected: delivered(200, { body: '' }),
  },
  {
    what: 'HTTP/1.0 that does not close',
    play: says(head('HTTP/1.0 200 OK', 'content-length: 2'), 'ok'),
    expected: delivered(200, { body: 'ok' }),
  },
  {
    what: 'HTTP/1.0 without a length that closes',
    play: saysAndEnds(`${head('HTTP/1.0 200 OK')}ok`),
    expected: delivered(200, { body: 'ok' }),
  },
  {
    what: 'HTTP/1.0 that keeps alive',
    play: says(head('HTTP/1.0 200 OK', 'connection: keep-alive', 'content-length: 2'), 'ok'),
    expected: delivered(200, { body: 'ok' }),
  },
  {
    what: 'a coding that is not chunked, until it closes',
    play: saysAndEnds(`${head(OK, 'transfer-encoding: gzip')}3\r\nabc\r\n`),
    expected: delivered(200, { body: '3\r\nabc\r\n' }),
  },
  {
    what: 'chunks with extensions, quotes and trailers',
    play: says(
      head(OK, 'transfer-encoding: chunked'),
      '3;a=b;c="d \\" e"\r\nabc\r\n0;last\r\nx-trailer: 1\r\n\r\n',
    ),
    expected: delivered(200, { body: 'abc' }),
  },
  {
    what: 'fields named like parts of objects',
    play: says(head(OK, '__proto__: a', 'constructor: b', 'toString: c', EMPTY)),
    expected: delivered(200, KEPT),
  },
];
