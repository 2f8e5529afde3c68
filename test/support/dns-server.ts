import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv6 } from 'node:net';

const LOOPBACK = '127.0.0.1';
const TYPES: Readonly<Record<number, 'A' | 'AAAA'>> = { 1: 'A', 28: 'AAAA' };
const SERVFAIL = 2;
const NXDOMAIN = 3;

export interface DnsQuestion {
  readonly name: string;
  readonly type: 'A' | 'AAAA';
}

/** Addresses of the type that was asked for; none is "no such record". `silent`: no answer ever. */
export type DnsAnswer = readonly string[] | 'nxdomain' | 'servfail' | 'silent';

export interface DnsServer {
  /** `127.0.0.1:<port>`, as GHOST_DNS_SERVERS takes it. */
  readonly address: string;
  questions(): readonly DnsQuestion[];
  stop(): Promise<void>;
}

/**
 * Starts a DNS server on a free UDP port of the loopback address.
 *
 * @param ttlSeconds - of every answer
 */
export async function startDnsServer(
  answer: (question: DnsQuestion) => DnsAnswer,
  ttlSeconds = 0,
): Promise<DnsServer> {
  const asked: DnsQuestion[] = [];
  const socket = createSocket('udp4');
  socket.on('message', (query, from) => {
    const question = readQuestion(query);
    if (!question) return;
    asked.push(question);
    const given = answer(question);
    if (given === 'silent') return;
    socket.send(response(query, question, given, ttlSeconds), from.port, from.address);
  });
  socket.bind(0, LOOPBACK);
  await once(socket, 'listening');
  return {
    address: `${LOOPBACK}:${socket.address().port}`,
    questions: () => asked,
    stop: async () => {
      const closed = once(socket, 'close');
      socket.close();
      await closed;
    },
  };
}

/** RFC 1035 §4.1.2: labels from byte 12, then type and class. */
function readQuestion(query: Buffer): (DnsQuestion & { end: number }) | undefined {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  const type = TYPES[query.readUInt16BE(at + 1)];
  return type ? { name: labels.join('.').toLowerCase(), type, end: at + 5 } : undefined;
}

function response(
  query: Buffer,
  question: DnsQuestion & { end?: number },
  given: Exclude<DnsAnswer, 'silent'>,
  ttlSeconds: number,
): Buffer {
  const head = Buffer.from(query.subarray(0, question.end));
  const code = given === 'servfail' ? SERVFAIL : given === 'nxdomain' ? NXDOMAIN : 0;
  const addresses = typeof given === 'string' ? [] : given;
  const records = addresses.filter((one) => isIPv6(one) === (question.type === 'AAAA'));
  head.writeUInt16BE(0x8180 | code, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(records.length, 6);
  head.writeUInt32BE(0, 8);
  return Buffer.concat([
    head,
    ...records.map((address) => record(address, question.type, ttlSeconds)),
  ]);
}

function record(address: string, type: 'A' | 'AAAA', ttlSeconds: number): Buffer {
  const data = type === 'A' ? Buffer.from(address.split('.').map(Number)) : ipv6Bytes(address);
  const head = Buffer.alloc(12);
  head.writeUInt16BE(0xc00c, 0);
  head.writeUInt16BE(type === 'A' ? 1 : 28, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt32BE(ttlSeconds, 6);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, data]);
}

function ipv6Bytes(address: string): Buffer {
  const [left = '', right] = address.split('::');
  const groups = (text: string) => (text === '' ? [] : text.split(':'));
  const [head, tail] = [groups(left), groups(right ?? '')];
  const zeros = right === undefined ? 0 : 8 - head.length - tail.length;
  const all = [...head, ...Array.from({ length: zeros }, () => '0'), ...tail];
  return Buffer.from(all.map((group) => group.padStart(4, '0')).join(''), 'hex');
}
