import { delivered, type Expected, type HostileCase } from './hostile-case.js';
import { head, OK, says, saysAndEnds } from './server-moves.js';

const ABC = '3\r\nabc\r\n';
const LAST = '0\r\n\r\n';
/** The head is one of a delivery, whatever comes behind it; but its connection is used no more. */
const NO_MORE = delivered(200, { body: '' });
const ABC_THEN_NO_MORE = delivered(200, { body: 'abc' });
const KEPT = delivered(200, { body: 'abc', kept: true });

const chunks = (what: string, body: string, expected: Expected = NO_MORE): HostileCase => ({
  what,
  play: says(head(OK, 'transfer-encoding: chunked') + body),
  expected,
});

const SIZES: readonly HostileCase[] = [
  chunks('a chunk size of 17 digits', 'fffffffffffffffff\r\nabc'),
  chunks('a chunk size that wraps at 64 bits', `10000000000000003\r\nabc\r\n${LAST}`),
  chunks('a chunk size that wraps at 32 bits', `100000003\r\nabc\r\n${LAST}`),
  chunks('a chunk size that is no number', 'zz\r\nabc\r\n'),
  chunks('a negative chunk size', '-3\r\nabc\r\n'),
  chunks('a chunk size with a sign', `+3\r\nabc\r\n${LAST}`),
  chunks('a chunk size with an underscore', `0_3\r\nabc\r\n${LAST}`),
  chunks('a chunk size with a point', `3.0\r\nabc\r\n${LAST}`),
  chunks('a chunk size with 0x', '0x3\r\nabc\r\n'),
  chunks('a chunk size with a blank before it', ` 3\r\nabc\r\n${LAST}`),
  chunks('a chunk size in quotes', `"3"\r\nabc\r\n${LAST}`),
  chunks('an empty chunk size', '\r\nabc\r\n'),
  chunks('a chunk size with a blank behind it', `3 \r\nabc\r\n${LAST}`, KEPT),
  chunks('a chunk size with zeros before it', `0003\r\nabc\r\n${LAST}`, KEPT),
];

/** Who ends a line at a lone CR or LF, and who does not, read other chunks. */
const LINES: readonly HostileCase[] = [
  chunks('chunk lines that end by LF alone', '3\nabc\n0\n\n'),
  chunks('a chunk extension that ends by LF alone', `3;a\nabc\r\n${LAST}`),
  chunks('a chunk extension with a lone CR', `3;a\rb\r\nabc\r\n${LAST}`),
  chunks('a chunk size with a lone CR', `3\rabc\r\n${LAST}`),
  chunks('a chunk size with two CR', `3\r\r\nabc\r\n${LAST}`),
  chunks('a chunk that ends by LF alone', `3\r\nabc\n${LAST}`, ABC_THEN_NO_MORE),
  chunks('a chunk that ends by two CR', `3\r\nabc\r\r\n${LAST}`, ABC_THEN_NO_MORE),
  chunks('a last line that ends by LF alone', `${ABC}0\r\n\n`, ABC_THEN_NO_MORE),
  chunks('a trailer with a lone CR', `${ABC}0\r\nx: a\rb\r\n\r\n`, ABC_THEN_NO_MORE),
  chunks('a trailer that ends by LF alone', `${ABC}0\r\nx: y\n\r\n`, ABC_THEN_NO_MORE),
];

const CONTENTS: readonly HostileCase[] = [
  chunks('a chunk longer than its size', `3\r\nabcdef\r\n${LAST}`, ABC_THEN_NO_MORE),
  chunks('a trailer without a colon', `${ABC}0\r\nno colon\r\n\r\n`, ABC_THEN_NO_MORE),
  chunks('NUL in a trailer', `${ABC}0\r\nx: a\0b\r\n\r\n`, ABC_THEN_NO_MORE),
];

const CODINGS: readonly HostileCase[] = [
  ...['identity', 'chunked, identity', 'xchunked', 'chunked;q=1', '"chunked"', '', ','].map(
    (coding): HostileCase => ({
      what: `the coding "${coding}", until it closes`,
      play: saysAndEnds(`${head(OK, `transfer-encoding: ${coding}`)}${ABC}${LAST}`),
      expected: delivered(200, { body: ABC + LAST }),
    }),
  ),
  ...['\vchunked', 'chunked\xa0', '\x85chunked'].map(
    (coding): HostileCase => ({
      what: `the coding ${JSON.stringify(coding)}, with a blank that is not one of HTTP, until it closes`,
      play: saysAndEnds(`${head(OK, `transfer-encoding: ${coding}`)}${ABC}${LAST}`),
      expected: delivered(200, { body: ABC + LAST }),
    }),
  ),
  {
    what: 'chunks within chunks, as it says',
    play: says(head(OK, 'transfer-encoding: chunked', 'transfer-encoding: chunked') + ABC + LAST),
    expected: ABC_THEN_NO_MORE,
  },
  {
    what: 'chunks of HTTP/1.0',
    play: says(head('HTTP/1.0 200 OK', 'transfer-encoding: chunked') + ABC + LAST),
    expected: ABC_THEN_NO_MORE,
  },
  {
    what: 'the coding "Chunked", with a tab before it',
    play: says(head(OK, 'Transfer-Encoding:\tChunked ') + ABC + LAST),
    expected: KEPT,
  },
];

/** Servers that say otherwise than HTTP/1.1 does where an answer ends. */
export const CHUNKED_ANSWERS: readonly HostileCase[] = [
  ...SIZES,
  ...LINES,
  ...CONTENTS,
  ...CODINGS,
];
