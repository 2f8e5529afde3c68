// A receiver in a process of its own that costs as little as it can: `/after/<ms>/<key>` is answered
// 200 after that time, `/never/<key>` never. GET /report tells what came, GET /count how much, DELETE /report forgets it.
import { createServer, type Socket } from 'node:net';

import type { Arrival, ReceiverReport } from './receiver.js';

const LOOPBACK = '127.0.0.1';
/** Where a queue of connections overflows the kernel drops what comes, and who connects tries again after a second. */
const BACKLOG = 4_096;
const ANSWER = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-type: text/plain\r\n\r\nok';

const arrivals: Arrival[] = [];
const seen = new Set<string>();
const inFlight = new Map<string, number>();
const peaks = new Map<string, number>();
let repeats = 0;

const server = createServer({ noDelay: true }, (socket) => {
  const open = new Set<string>();
  let text = '';
  socket.on('error', () => undefined);
  // A sender that gave up and closed has nothing in flight any more.
  socket.on('close', () => {
    for (const key of open) ended(key);
    open.clear();
  });
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1');
    for (;;) {
      const head = text.indexOf('\r\n\r\n');
      if (head < 0) return;
      const end = head + 4 + Number(field(text, 'content-length') ?? 0);
      if (text.length < end) return;
      const request = text.slice(0, head + 2);
      text = text.slice(end);
      take(request, socket, open);
    }
  });
});
server.listen(0, LOOPBACK, BACKLOG, () => {
  const address = server.address();
  const port = address !== null && typeof address === 'object' ? address.port : 0;
  console.log(`receiver on ${port}`);
});
process.on('SIGTERM', () => process.exit(0));

function take(request: string, socket: Socket, open: Set<string>): void {
  const path = request.slice(request.indexOf(' ') + 1, request.indexOf(' HTTP/'));
  if (path === '/report') {
    report(request.startsWith('DELETE'), socket);
    return;
  }
  if (path === '/count') {
    answerOnce(String(arrivals.length), socket);
    return;
  }
  const [, kind, ...rest] = path.split('/');
  const key = rest.at(-1) ?? '';
  const id = field(request, 'x-ghost-delivery') ?? '';
  if (seen.has(id)) repeats += 1;
  seen.add(id);
  const now = (inFlight.get(key) ?? 0) + 1;
  inFlight.set(key, now);
  if (now > (peaks.get(key) ?? 0)) peaks.set(key, now);
  arrivals.push([id, key, Date.now(), now]);
  open.add(key);
  if (kind !== 'after') return;
  const answer = () => {
    if (!open.delete(key)) return;
    ended(key);
    socket.write(ANSWER);
  };
  const ms = Number(rest[0]);
  if (ms === 0) answer();
  else setTimeout(answer, ms);
}

function ended(key: string): void {
  inFlight.set(key, (inFlight.get(key) ?? 0) - 1);
}

function report(forget: boolean, socket: Socket): void {
  const told: ReceiverReport = { arrivals, repeats, peaks: Object.fromEntries(peaks) };
  const body = forget ? '{}' : JSON.stringify(told);
  if (forget) {
    arrivals.length = 0;
    repeats = 0;
    peaks.clear();
  }
  answerOnce(body, socket);
}

function answerOnce(body: string, socket: Socket): void {
  socket.end(
    `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
  );
}

/** Names come in lower case, as our own sender writes them. */
function field(head: string, name: string): string | undefined {
  const at = head.indexOf(`\r\n${name}: `);
  if (at < 0) return undefined;
  const from = at + name.length + 4;
  return head.slice(from, head.indexOf('\r\n', from));
}
