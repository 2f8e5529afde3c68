import { bytesOf } from '../answers/server-moves.js';
import { ANSWER_TO, POISON } from '../kept-cases.js';
import { mutate } from './mutate.js';
import type { Random } from './seeded-random.js';

/** Answers as they are meant, before anything is done to them. */
const INTACT_SHARE = 0.3;
const ONE_WRITE_SHARE = 0.4;
const MOST_PIECES = 8;
const MOST_MUTATIONS = 5;
const PAUSES_MS = [0, 0, 1, 3];

const ENDS = ['stay', 'stay', 'end', 'reset'] as const;
const ENDS_OF_INTACT = ['stay', 'stay', 'end'] as const;
/** Behind so many of the intact ones comes something that the next request must not be answered by. */
const UNASKED_SHARE = 0.3;

interface Piece {
  bytes: Buffer;
  pauseMs: number;
}

/** What a server does about one request. */
export interface Script {
  pieces: readonly Piece[];
  end: (typeof ENDS)[number];
  /** What must come of it; none where anything may, as long as it ends. */
  intact?: { status: number; body: string };
}

interface Valid {
  text: string;
  status: number;
  body: string;
  /** Its end is the connection's. */
  closes?: true;
}

/** An answer to the request of this id: as it should be, or mutated; written in random pieces. */
export function randomScript(random: Random, id: string): Script {
  const valid = validAnswer(random, id);
  const intact = random.chance(INTACT_SHARE);
  let bytes = bytesOf(valid.text);
  if (!intact) {
    const times = 1 + random.int(MOST_MUTATIONS);
    for (let n = 0; n < times; n += 1) bytes = mutate(random, bytes);
  }
  const end = valid.closes ? 'end' : random.pick(intact ? ENDS_OF_INTACT : ENDS);
  const pieces = piecesOf(random, bytes);
  if (intact && end === 'stay' && random.chance(UNASKED_SHARE)) {
    const unasked = random.pick([POISON, POISON.slice(0, 40), valid.text, '\0', '\r\n']);
    pieces.push({ bytes: bytesOf(unasked), pauseMs: random.pick(PAUSES_MS) });
  }
  return {
    pieces,
    end,
    ...(intact ? { intact: { status: valid.status, body: valid.body } } : {}),
  };
}

function piecesOf(random: Random, bytes: Buffer): Piece[] {
  const count = random.chance(ONE_WRITE_SHARE) ? 1 : 2 + random.int(MOST_PIECES - 1);
  const cuts = Array.from({ length: count - 1 }, () => random.int(bytes.length + 1)).toSorted(
    (a, b) => a - b,
  );
  return [...cuts, bytes.length].map((cut, index) => ({
    bytes: bytes.subarray(cuts[index - 1] ?? 0, cut),
    pauseMs: index === 0 ? 0 : random.pick(PAUSES_MS),
  }));
}

function validAnswer(random: Random, id: string): Valid {
  const status = random.pick([200, 200, 200, 201, 202, 302, 400, 404, 429, 500, 503]);
  const body = 'abc \xe9\0{"a":1}'.repeat(random.int(5));
  const fields = [`${ANSWER_TO}: ${id}`, ...someFields(random)];
  const line = `HTTP/1.1 ${status} ${random.pick(['OK', '', 'Not Quite', 'caf\xe9'])}`;
  const head = (...lines: string[]) => `${lines.join('\r\n')}\r\n\r\n`;
  const length = `content-length: ${body.length}`;
  const whole = `${head(line, ...fields, length)}${body}`;
  const of = (text: string, more: Partial<Valid> = {}): Valid => ({
    text,
    status,
    body: new TextDecoder().decode(bytesOf(body)).replaceAll('\0', '\uFFFD'),
    ...more,
  });
  switch (random.int(7)) {
    case 0:
      return of(head(line, ...fields, 'Transfer-Encoding: chunked') + chunked(random, body));
    case 1:
      return of(`${head('HTTP/1.1 103 Early Hints', 'link: </a>')}${whole}`);
    case 2:
      return of(head('HTTP/1.1 204 No Content', ...fields), { status: 204, body: '' });
    case 3:
      return of(`${head(line, ...fields)}${body}`, { closes: true });
    case 4:
      return of(whole.replace('HTTP/1.1', 'HTTP/1.0'));
    case 5:
      return of(`${head(line, 'Connection: close', ...fields, length)}${body}`);
    default:
      return of(whole);
  }
}

function someFields(random: Random): string[] {
  return Array.from({ length: random.int(4) }, () =>
    random.pick([
      'Server: nginx',
      'x-empty:',
      'X-Blank:   b  ',
      'Set-Cookie: a=b',
      'x-latin: \xe9\xff',
      'retry-after: 5',
      'date: Mon, 30 Nov 2026 04:00:00 GMT',
      'Connection: keep-alive',
      'Keep-Alive: timeout=5, max=100',
    ]),
  );
}

function chunked(random: Random, body: string): string {
  let text = '';
  for (let at = 0; at < body.length; ) {
    const size = 1 + random.int(body.length - at);
    const extension = random.pick(['', '', ';a', ';a=b', ';a="b c"']);
    text += `${size.toString(16)}${extension}\r\n${body.slice(at, at + size)}\r\n`;
    at += size;
  }
  return `${text}0\r\n${random.pick(['', '', 'x-trailer: 1\r\n'])}\r\n`;
}
