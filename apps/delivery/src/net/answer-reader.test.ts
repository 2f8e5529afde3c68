import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { AnswerReader, type AnswerState } from './answer-reader.js';

interface Read {
  state: AnswerState;
  status: number | undefined;
  fields: [string, string][] | undefined;
  body: string;
}

/** What a reader makes of bytes that come in these pieces; the peer then closes. */
function read(pieces: readonly Buffer[]): Read {
  const reader = new AnswerReader();
  let state: AnswerState = { kind: 'reading' };
  for (const piece of pieces) {
    if (state.kind !== 'reading') break;
    state = reader.push(piece);
  }
  if (state.kind === 'reading') state = reader.ended() ?? state;
  return {
    state,
    status: reader.head?.status,
    fields: reader.head?.fields,
    body: Buffer.from(reader.body).toString('latin1'),
  };
}

const readText = (text: string) => read([Buffer.from(text, 'latin1')]);
const WHOLE = { kind: 'answered', whole: true } as const;
const BROKEN = { kind: 'answered', whole: false } as const;
const BAD = { kind: 'bad', reason: 'bad_response' } as const;
const TOO_LARGE = { kind: 'bad', reason: 'head_too_large' } as const;

describe('an answer ends where its framing says', () => {
  test.each<[string, string, AnswerState, string]>([
    ['by its length', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok', WHOLE, 'ok'],
    ['at once with no bytes', 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n', WHOLE, ''],
    ['at once with 204', 'HTTP/1.1 204 No\r\n\r\n', WHOLE, ''],
    ['at once with 204 and no bytes', 'HTTP/1.1 204 No\r\ncontent-length: 0\r\n\r\n', WHOLE, ''],
    [
      'at once with 204, and one that tells of a body is the last of its connection',
      'HTTP/1.1 204 No\r\ncontent-length: 5\r\n\r\n',
      BROKEN,
      '',
    ],
    [
      'at once with 304, and one that tells of chunks is the last of its connection',
      'HTTP/1.1 304 Same\r\ntransfer-encoding: chunked\r\n\r\n',
      BROKEN,
      '',
    ],
    ['without a reason phrase', 'HTTP/1.1 200\r\ncontent-length: 0\r\n\r\n', WHOLE, ''],
    [
      'by its chunks, extensions left out',
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2;a=b\r\nok\r\n0A\r\n0123456789\r\n0\r\n\r\n',
      WHOLE,
      'ok0123456789',
    ],
    [
      'and one with trailers is the last of its connection',
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\nx-t: 1\r\n\r\n',
      BROKEN,
      '',
    ],
    ['with the connection', 'HTTP/1.1 200 OK\r\n\r\nok', BROKEN, 'ok'],
    ['and HTTP/1.0 keeps none', 'HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok', BROKEN, 'ok'],
    [
      'and "close" keeps none',
      'HTTP/1.1 200 OK\r\nconnection: x, Close\r\ncontent-length: 0\r\n\r\n',
      BROKEN,
      '',
    ],
    [
      'and one kept for a second is not used again',
      'HTTP/1.1 200 OK\r\nkeep-alive: timeout=1, max=9\r\ncontent-length: 0\r\n\r\n',
      BROKEN,
      '',
    ],
    ['before its length', 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nok', BROKEN, 'ok'],
    ['and what comes behind is not its', 'HTTP/1.1 204 No\r\n\r\nHTTP/1.1 200 OK\r\n', BROKEN, ''],
    [
      'where a length stands beside chunks it is not trusted',
      'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n',
      BROKEN,
      'ok',
    ],
    [
      'where a chunk has no size it breaks off',
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n',
      BROKEN,
      '',
    ],
    [
      'where a chunk is longer than its size it breaks off',
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nokay\r\n0\r\n\r\n',
      BROKEN,
      'ok',
    ],
    [
      'where a size overflows it breaks off',
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nfffffffff\r\nok',
      BROKEN,
      '',
    ],
  ])('%s', (_how, text, state, body) => {
    const all = readText(text);
    expect(all).toMatchObject({ state, body });
    // Whatever pieces it comes in; bytes behind its end are not asked for then.
    const inPieces = read(Array.from(text, (byte) => Buffer.from(byte, 'latin1')));
    expect({ ...inPieces, state: inPieces.state.kind }).toEqual({ ...all, state: all.state.kind });
  });
});

describe('a head', () => {
  test.each([
    ['of another protocol', 'SSH-2.0-OpenSSH_9.2\r\n'],
    ['of another version', 'HTTP/2.0 200 OK\r\n\r\n'],
    ['without a status', 'HTTP/1.1 abc\r\n\r\n'],
    ['with a status of two digits', 'HTTP/1.1 20 OK\r\n\r\n'],
    ['whose lines end otherwise', 'HTTP/1.1 200 OK\ncontent-length: 0\n\n'],
    ['with a name that has a blank', 'HTTP/1.1 200 OK\r\ncontent length: 0\r\n\r\n'],
    ['with a blank before the colon', 'HTTP/1.1 200 OK\r\ncontent-length : 0\r\n\r\n'],
    ['with no colon', 'HTTP/1.1 200 OK\r\ncontent-length\r\n\r\n'],
    ['with two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nok'],
    ['with a length below zero', 'HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n'],
    ['with a length in hex', 'HTTP/1.1 200 OK\r\ncontent-length: 0x1\r\n\r\n'],
    [
      'with a length over every bound',
      `HTTP/1.1 200 OK\r\ncontent-length: ${'9'.repeat(20)}\r\n\r\n`,
    ],
    ['that switches unasked', 'HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\n\r\n'],
    ['that goes on unasked', 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n'],
  ])('%s is bad', (_what, text) => {
    expect(readText(text).state).toEqual(BAD);
  });

  test.each([
    ['a reason phrase without end', `HTTP/1.1 200 ${'x'.repeat(9_000)}`],
    ['a field without end', `HTTP/1.1 200 OK\r\nx: ${'x'.repeat(9_000)}`],
    ['a field of 9,000 bytes', `HTTP/1.1 200 OK\r\nx: ${'x'.repeat(9_000)}\r\n\r\n`],
    ['101 fields', `HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(101)}\r\n`],
    ['announcements without end', `HTTP/1.1 103 ${'x'.repeat(99)}\r\n\r\n`.repeat(700)],
  ])('with %s is too large', (_what, text) => {
    expect(readText(text).state).toEqual(TOO_LARGE);
  });

  test('keeps its fields as they came, control characters aside, folded lines as one', () => {
    const text =
      'HTTP/1.1 299 Odd\r\nX-A:\t a\0b\xe9 \r\nx-f: one\r\n\ttwo\r\ncontent-length: 0\r\n\r\n';
    expect(readText(text)).toMatchObject({
      state: WHOLE,
      status: 299,
      fields: [
        ['X-A', 'a b\xe9'],
        ['x-f', 'one two'],
        ['content-length', '0'],
      ],
    });
  });

  test('announced before is the answer', () => {
    const text =
      'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 404 No\r\ncontent-length: 0\r\n\r\n';
    expect(readText(text)).toMatchObject({ state: WHOLE, status: 404 });
  });
});

describe('a body', () => {
  test('is kept up to 16 KiB and read up to 256', () => {
    const head = 'HTTP/1.1 200 OK\r\ncontent-length: 999999\r\n\r\n';
    const reader = new AnswerReader();
    reader.push(Buffer.from(head));
    const piece = Buffer.alloc(10_000, 'x');
    let pieces = 1;
    while (reader.push(piece).kind === 'reading') pieces += 1;
    expect(pieces).toBe(27);
    expect(reader.body).toHaveLength(16_384);
  });

  test.each([
    ['a chunk extension', `1;${'x'.repeat(300_000)}`],
    ['trailers', `0\r\n${'x: y\r\n'.repeat(60_000)}`],
    ['chunks of one byte', '1\r\nx\r\n'.repeat(60_000)],
  ])('of %s without end is broken off at the same bound', (_what, body) => {
    const text = `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${body}`;
    expect(readText(text).state).toEqual(BROKEN);
  });
});

describe('an answer that comes byte by byte, without end,', () => {
  const piecesOf = (head: string, piece: string) => {
    const reader = new AnswerReader();
    let state = head === '' ? undefined : reader.push(Buffer.from(head));
    let pieces = 0;
    while (state === undefined || state.kind === 'reading') {
      state = reader.push(Buffer.from(piece));
      pieces += 1;
    }
    return { state, pieces };
  };

  test.each([
    ['in its head', 'HTTP/1.1 200 OK\r\nx: ', 'x', BAD],
    ['in its body', 'HTTP/1.1 200 OK\r\n\r\n', 'x', BROKEN],
    [
      'in a chunk extension',
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;',
      'x',
      BROKEN,
    ],
    ['in small announcements', '', 'HTTP/1.1 103 E\r\n\r\n', BAD],
  ])('%s is broken off: each read takes its time', (_where, head, piece, state) => {
    const read = piecesOf(head, piece);
    expect(read.state).toEqual(state);
    expect(read.pieces).toBeLessThanOrEqual(501);
  });
});

test('random bytes in random pieces end in a verdict, the same one however they are cut', () => {
  const valid = fc.constantFrom(
    'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello',
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n',
    'HTTP/1.1 103 Hint\r\n\r\nHTTP/1.1 500 No\r\nretry-after: 9\r\n\r\nbody',
  );
  const change = fc.record({
    at: fc.nat(80),
    gone: fc.nat(3),
    instead: fc.string({
      unit: fc.constantFrom('\r', '\n', '\0', ':', ' ', '0', 'f', 'x', '\xff'),
    }),
  });
  const cuts = fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(valid, fc.array(change, { maxLength: 4 }), cuts, (text, changes, lengths) => {
      let changed = text;
      for (const { at, gone, instead } of changes) {
        changed = changed.slice(0, at) + instead + changed.slice(at + gone);
      }
      const bytes = Buffer.from(changed, 'latin1');
      const pieces: Buffer[] = [];
      for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
        const length = lengths[turn % lengths.length] ?? 1;
        pieces.push(bytes.subarray(at, at + length));
        at += length;
      }
      const whole = read([bytes]);
      const cut = read(pieces);
      // Bytes behind an answer may come too late to be seen; they then meet an idle connection, which they end.
      if (cut.state.kind === 'answered') expect(whole.state.kind).toBe('answered');
      else expect(cut.state).toEqual(whole.state);
      expect([cut.status, cut.fields, cut.body]).toEqual([whole.status, whole.fields, whole.body]);
    }),
    { numRuns: 500 },
  );
});
