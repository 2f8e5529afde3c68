import { bytesOf } from '../answers/server-moves.js';
import { POISON } from '../kept-cases.js';
import type { Random } from './seeded-random.js';

const BYTES = [0, 1, 9, 10, 13, 32, 34, 45, 48, 57, 58, 59, 127, 128, 255];
const TOKENS = [
  '\r\n',
  '\r\n\r\n',
  '\n',
  '\r',
  ': ',
  ';',
  '0\r\n\r\n',
  '-1',
  'ffffffffffffffff\r\n',
  '7fffffff\r\n',
  'HTTP/1.1 ',
  'HTTP/1.1 100 Continue\r\n\r\n',
  'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n',
  'content-length: 5\r\n',
  'content-length: 0\r\n',
  'transfer-encoding: chunked\r\n',
  'transfer-encoding: gzip\r\n',
  'connection: close\r\n',
  'upgrade: websocket\r\n',
  'x'.repeat(9_000),
  'x: y\r\n'.repeat(120),
  '\0',
  '\xff',
  POISON,
];
const LONGEST_RANGE = 40;

/** The bytes with one thing done to them. */
export function mutate(random: Random, bytes: Buffer): Buffer {
  const at = random.int(bytes.length + 1);
  const end = Math.min(bytes.length, at + 1 + random.int(LONGEST_RANGE));
  const [before, range, after] = [
    bytes.subarray(0, at),
    bytes.subarray(at, end),
    bytes.subarray(end),
  ];
  const rest = bytes.subarray(at);
  switch (random.int(9)) {
    case 0:
      return Buffer.concat([before, after]);
    case 1:
      return Buffer.concat([before, range, range, after]);
    case 2:
      return before;
    case 3:
      return Buffer.concat([bytes, bytes]);
    case 4:
      return Buffer.concat([bytes, bytesOf(POISON)]);
    case 5:
      return Buffer.concat([before, Buffer.from([random.pick(BYTES)]), rest.subarray(1)]);
    case 6:
      return Buffer.concat([before, Buffer.from([random.int(256)]), rest]);
    default:
      return Buffer.concat([before, bytesOf(random.pick(TOKENS)), rest]);
  }
}
