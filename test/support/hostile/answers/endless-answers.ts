import { gzipSync } from 'node:zlib';

import { delivered, fails, type HostileCase } from './hostile-case.js';
import { floods, head, OK, pours, says } from './server-moves.js';

const TOO_LARGE = fails('head_too_large');
const CHUNKED = head(OK, 'transfer-encoding: chunked');
/** 50 MB of one letter. */
const GZIP_BOMB = gzipSync(Buffer.alloc(50_000_000, 'x')).toString('latin1');

/** Servers that never come to an end, or come to it late. */
export const ENDLESS_ANSWERS: readonly HostileCase[] = [
  {
    what: '1xx without end',
    play: floods('', head('HTTP/1.1 103 Early Hints')),
    expected: TOO_LARGE,
  },
  {
    what: '1xx with fields without end',
    play: floods('', head('HTTP/1.1 103 Early Hints', `link: <${'a'.repeat(1_000)}>`)),
    expected: TOO_LARGE,
  },
  {
    what: 'empty lines without end',
    play: floods('', '\r\n'),
    expected: fails('head_too_large', 'bad_response'),
  },
  { what: 'a reason phrase without end', play: floods('HTTP/1.1 200 ', 'O'), expected: TOO_LARGE },
  {
    what: 'a reason phrase of 100 KB',
    play: says(head(`HTTP/1.1 200 ${'O'.repeat(100_000)}`, 'content-length: 0')),
    expected: TOO_LARGE,
  },
  { what: 'a name of a field without end', play: floods(`${OK}\r\n`, 'x'), expected: TOO_LARGE },
  {
    what: 'a value of a field without end',
    play: floods(`${OK}\r\nx: `, 'y'),
    expected: TOO_LARGE,
  },
  {
    what: 'blanks before a value without end',
    play: floods(`${OK}\r\nx:`, ' '),
    expected: TOO_LARGE,
  },
  { what: 'fields without end', play: floods(`${OK}\r\n`, 'x: y\r\n'), expected: TOO_LARGE },
  {
    what: 'fields without a value without end',
    play: floods(`${OK}\r\n`, 'x:\r\n'),
    expected: TOO_LARGE,
  },
  {
    what: 'a field in small pieces, without end',
    play: pours(`${OK}\r\nx: `, 'y'.repeat(60)),
    expected: TOO_LARGE,
  },
  {
    what: 'fields in small pieces, without end',
    play: pours(`${OK}\r\n`, 'x: y\r\n'.repeat(10)),
    expected: TOO_LARGE,
  },
  {
    what: 'a field of 20 KB',
    vector: 'resp-011',
    play: says(head(OK, `x: ${'y'.repeat(20_000)}`, 'content-length: 0')),
    expected: TOO_LARGE,
  },
  {
    what: '5,000 fields of two bytes',
    vector: 'resp-012',
    play: says(head(OK, ...Array<string>(5_000).fill('x:y'), 'content-length: 0')),
    expected: TOO_LARGE,
  },
  {
    what: '101 fields',
    play: says(head(OK, ...Array<string>(100).fill('x: y'), 'content-length: 0')),
    expected: TOO_LARGE,
  },
  {
    what: '100 fields',
    play: says(head(OK, ...Array<string>(99).fill('x: y'), 'content-length: 0')),
    expected: delivered(200, { kept: true }),
  },
  {
    what: 'a chunk extension without end',
    vector: 'resp-014',
    play: floods(`${CHUNKED}3;`, 'x'),
    expected: delivered(),
  },
  {
    what: 'a chunk extension of 100 KB on each chunk, without end',
    play: floods(CHUNKED, `1;${'x'.repeat(100_000)}\r\na\r\n`),
    expected: delivered(),
  },
  { what: 'a chunk size of zeros without end', play: floods(CHUNKED, '0'), expected: delivered() },
  {
    what: 'trailers without end',
    play: floods(`${CHUNKED}3\r\nabc\r\n0\r\n`, 'x: y\r\n'),
    expected: delivered(200, { body: 'abc' }),
  },
  {
    what: 'a trailer without end',
    play: floods(`${CHUNKED}3\r\nabc\r\n0\r\nx: `, 'y'),
    expected: delivered(200, { body: 'abc' }),
  },
  {
    what: 'a body without end',
    vector: 'resp-016',
    play: floods(head(OK), 'x'),
    expected: delivered(200, { body: 'x'.repeat(16_384) }),
  },
  {
    what: 'a body of 200 MB',
    play: floods(head(OK, 'content-length: 200000000'), 'x'),
    expected: delivered(200, { body: 'x'.repeat(16_384) }),
  },
  {
    what: 'a body of chunks without end',
    play: floods(CHUNKED, `2710\r\n${'x'.repeat(10_000)}\r\n`),
    expected: delivered(200, { body: 'x'.repeat(16_384) }),
  },
  {
    what: 'chunks of a byte without end',
    play: floods(CHUNKED, '1\r\nx\r\n'),
    expected: delivered(200, { body: 'x'.repeat(16_384) }),
  },
  {
    what: '50 KB of gzip that hold 50 MB',
    vector: 'resp-017',
    play: says(
      head(OK, 'content-encoding: gzip', `content-length: ${GZIP_BOMB.length}`),
      GZIP_BOMB,
    ),
    expected: delivered(200, { kept: true }),
  },
];
