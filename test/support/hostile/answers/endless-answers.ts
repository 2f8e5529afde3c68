import { gzipSync } from 'node:zlib';

import { delivered, fails, type HostileCase } from './hostile-case.js';
import { floods, head, OK, says } from './server-moves.js';

const TOO_LARGE = fails('head_too_large');
const CHUNKED = head(OK, 'transfer-encoding: chunked');
/** 50 MB of one letter. */
const GZIP_BOMB = gzipSync(Buffer.alloc(50_000_000, 'x')).toString('latin1');

/** Servers that never come to an end, or come to it late. */
export const ENDLESS_ANSWERS: readonly HostileCase[] = [
  { what: 'a name of a field without end', play: floods(`${OK}\r\n`, 'x'), expected: TOO_LARGE },
  {
    what: 'a value of a field without end',
    play: floods(`${OK}\r\nx: `, 'y'),
    expected: TOO_LARGE,
  },
  {
    what: 'a field of 20 KB',
    vector: 'resp-011',
    play: says(head(OK, `x: ${'y'.repeat(20_000)}`, 'content-length: 0')),
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
    what: '50 KB of gzip that hold 50 MB',
    vector: 'resp-017',
    play: says(
      head(OK, 'content-encoding: gzip', `content-length: ${GZIP_BOMB.length}`),
      GZIP_BOMB,
    ),
    expected: delivered(200, { kept: true }),
  },
];
