// The bundled receiver: a process of its own that reads just enough of HTTP/1.1 to answer 200 to
// each request and count it.

import { createServer, type Socket } from 'node:net';

import { nowMs } from '../clock.js';

const ANSWER = Buffer.from(
  'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nok',
);
const HEAD_END = Buffer.from('\r\n\r\n');
const CONTENT_LENGTH = /\r\ncontent-length: *(\d+)/iu;
const WEBHOOK_ID = /\r\nwebhook-id: *(\S+)/iu;
const NO_BYTES = Buffer.alloc(0);

let count = 0;
let firstMs = 0;
let lastMs = 0;
let times: Map<string, number> | null = null;

function serve(socket: Socket): void {
  let rest: Buffer = NO_BYTES;
  socket.setNoDelay(true);
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk: Buffer) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    for (let taken = take(rest); taken > 0; taken = take(rest)) {
      rest = rest.length === taken ? NO_BYTES : rest.subarray(taken);
      socket.write(ANSWER);
    }
  });
}

/** Counts the request at the start of the bytes; returns its length, or 0 when it is not complete. */
function take(bytes: Buffer): number {
  const headEnd = bytes.indexOf(HEAD_END);
  if (headEnd < 0) return 0;
  const head = bytes.toString('latin1', 0, headEnd);
  const length = headEnd + HEAD_END.length + Number(CONTENT_LENGTH.exec(head)?.[1] ?? 0);
  if (bytes.length < length) return 0;
  lastMs = nowMs();
  if (count === 0) firstMs = lastMs;
  count += 1;
  if (times !== null) {
    const id = WEBHOOK_ID.exec(head)?.[1] ?? '';
    if (!times.has(id)) times.set(id, lastMs);
  }
  return length;
}

type Question = { ask: 'reset'; times: boolean } | { ask: 'receipts' } | { ask: 'times' };

process.on('message', (question: Question) => {
  switch (question.ask) {
    case 'reset':
      count = 0;
      firstMs = 0;
      lastMs = 0;
      times = question.times ? new Map() : null;
      process.send?.(null);
      break;
    case 'receipts':
      process.send?.({ count, firstMs, lastMs });
      break;
    case 'times':
      process.send?.([...(times ?? [])]);
      break;
  }
});
process.on('SIGTERM', () => process.exit(0));
process.on('disconnect', () => process.exit(0));

/** The first host chooses a port, the others take the same one. */
function listen([host, ...others]: string[], port: number): void {
  const server = createServer(serve);
  server.listen(port, host, 1_024, () => {
    const address = server.address();
    const chosen = typeof address === 'object' && address !== null ? address.port : port;
    if (others.length > 0) listen(others, chosen);
    else console.log(`listening on ${chosen}`);
  });
}
listen(process.argv.slice(2), 0);
