import { connect, type Socket } from 'node:net';

import { GENERIC_REFUSAL } from '@ghost/policy';
import { describe, expect, test } from 'vitest';

import { rawServer, receiver, secureReceiver } from '../../../../test/support/servers-of-a-test.js';
import { TEST_CERTIFICATE } from '../../../../test/support/tls-certificate.js';
import { waitUntil } from '../../../../test/support/wait-until.js';
import { factsOf, PUBLIC_ONLY, webhookSender } from '../../../../test/support/webhook-sender.js';

const OPEN = 'HTTP/1.1 200 Connection established\r\n\r\n';
const ANSWER = 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n';
const NAMED = 'http://hooks.example.com:8080/x';

/** Asks a proxy that does this with each connection, and sends a webhook to a name by it. */
async function sentBy(onAsked: (socket: Socket) => void, deadlineMs = 2_000) {
  const proxy = await rawServer((socket) => socket.once('data', () => onAsked(socket)));
  const { send } = webhookSender({ policy: PUBLIC_ONLY, proxyPort: proxy.port, deadlineMs });
  const sent = await send(NAMED);
  await waitUntil(() => proxy.open() === 0, { what: 'the end of the socket' });
  return { ...sent, connections: proxy.connections() };
}

describe('a proxy that opens a tunnel', () => {
  /** Tunnels everything to one port, and says what it was asked. */
  async function proxyTo(port: number) {
    const asked: string[] = [];
    const server = await rawServer((socket) =>
      socket.once('data', (chunk) => {
        asked.push(chunk.toString());
        socket.write(OPEN);
        const upstream = connect(port, '127.0.0.1');
        upstream.on('error', () => undefined);
        socket.on('close', () => upstream.destroy());
        socket.pipe(upstream).pipe(socket);
      }),
    );
    return { asked, port: server.port };
  }

  test('is asked for each destination by name, and carries plain and secure webhooks', async () => {
    const target = await receiver();
    const proxy = await proxyTo(target.port);
    const settings = { policy: PUBLIC_ONLY, proxyPort: proxy.port };
    const { outcome } = await webhookSender(settings).send(NAMED);
    expect(outcome.verdict).toBe('delivered');
    expect(proxy.asked).toEqual([
      'CONNECT hooks.example.com:8080 HTTP/1.1\r\nhost: hooks.example.com:8080\r\nproxy-authorization: Basic dTpw\r\n\r\n',
    ]);
    expect(target.requests()[0]?.headers.host).toBe('hooks.example.com:8080');
    expect(target.requests()[0]?.headers).not.toHaveProperty('proxy-authorization');

    const secure = await secureReceiver();
    const secureProxy = await proxyTo(secure.port);
    const sent = await webhookSender({
      policy: PUBLIC_ONLY,
      proxyPort: secureProxy.port,
      trust: TEST_CERTIFICATE,
    }).send('https://hooks.example.com/x');
    expect(sent.outcome.verdict).toBe('delivered');
    expect(secure.asked).toEqual(['hooks.example.com']);
  });

  test('lifts no rule for literals', async () => {
    const target = await receiver();
    const proxy = await proxyTo(target.port);
    const { outcome } = await webhookSender({ policy: PUBLIC_ONLY, proxyPort: proxy.port }).send(
      target.url,
    );
    expect(outcome.verdict).toBe('hold');
    expect(proxy.asked).toEqual([]);
  });

  test('may take its time and pieces for it', async () => {
    const pieces = Array.from(OPEN.replace('\r\n', '\r\nvia: 1.1 proxy\r\n'));
    const { outcome } = await sentBy((socket) => {
      const next = () => {
        const piece = pieces.shift();
        if (piece === undefined) socket.once('data', () => socket.end(ANSWER));
        else socket.write(piece, () => setImmediate(next));
      };
      next();
    });
    expect(outcome.verdict).toBe('delivered');
  });
});

describe('a proxy that forbids a destination is a refused address', () => {
  const page = '<h1>Forbidden</h1>'.repeat(100);
  test.each([
    ['in one line', 'HTTP/1.1 403 Forbidden\r\n\r\n'],
    [
      'with a page behind its head',
      `HTTP/1.1 403 Forbidden\r\ncontent-length: ${page.length}\r\n\r\n${page}`,
    ],
    ['by HTTP/1.0, and closes', 'HTTP/1.0 403 Denied\r\nconnection: close\r\n\r\nno'],
    ['without a reason phrase', 'HTTP/1.1 403\r\n\r\n'],
    [
      'as smokescreen does',
      'HTTP/1.1 407 Request rejected by proxy\r\nx-smokescreen-error: proxy-authenticate: no\r\n\r\nproxy-authenticate: no\r\n',
    ],
  ])('%s', async (_how, answer) => {
    const { outcome, note, connections } = await sentBy((socket) => socket.write(answer));
    expect(outcome).toMatchObject({
      verdict: 'retry',
      reason: 'forbidden_address',
      facts: { message: GENERIC_REFUSAL, timings: { total: 0 } },
    });
    expect(note).toMatchObject({ refusal: 'proxy_refused', setting: 'GHOST_EGRESS_PROXY' });
    expect(connections).toBe(1);
  });
});

describe('a proxy that fails is told to the operator, and tried again', () => {
  test.each<[string, string, (socket: Socket) => void]>([
    [
      'asks for other credentials',
      'PROXY_ANSWERED_407',
      (socket) => socket.write('HTTP/1.1 407 Who?\r\nproxy-authenticate: Basic\r\n\r\nWho?'),
    ],
    [
      'reaches nobody',
      'PROXY_ANSWERED_502',
      (socket) => socket.write('HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n'),
    ],
    ['redirects', 'PROXY_ANSWERED_302', (socket) => socket.write('HTTP/1.1 302 There\r\n\r\n')],
    [
      'says more behind the tunnel it opened, as if the endpoint had answered',
      'PROXY_SPOKE_FIRST',
      (socket) => socket.write(OPEN + ANSWER),
    ],
    [
      'speaks another protocol',
      'PROXY_ANSWER_MALFORMED',
      (socket) => socket.write('220 x\r\n\r\n'),
    ],
    [
      'answers with four digits',
      'PROXY_ANSWER_MALFORMED',
      (socket) => socket.write('HTTP/1.1 2000 OK\r\n\r\n'),
    ],
    [
      'has a head without end',
      'PROXY_ANSWER_MALFORMED',
      (socket) => socket.write(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(20_000)}`),
    ],
    ['closes', 'PROXY_CLOSED', (socket) => socket.end()],
    ['resets', 'PROXY_CLOSED', (socket) => socket.resetAndDestroy()],
    [
      'closes in its head',
      'PROXY_CLOSED',
      (socket) => socket.end('HTTP/1.1 200 Connection established\r\n'),
    ],
  ])('%s: %s', async (_how, code, onAsked) => {
    const { outcome, note, connections } = await sentBy(onAsked);
    expect(outcome).toMatchObject({ verdict: 'retry', reason: 'proxy_failed' });
    // Nor how long it took: that too would tell of the network inside.
    expect(factsOf(outcome).timings).toEqual({ total: 0 });
    expect(note).toEqual({ code });
    expect(JSON.stringify(outcome)).not.toContain(code);
    expect(connections).toBe(1);
  });

  test('is not there', async () => {
    const gone = await rawServer(() => undefined);
    await gone.stop();
    const { send } = webhookSender({ policy: PUBLIC_ONLY, proxyPort: gone.port });
    const { outcome, note } = await send(NAMED);
    expect(outcome).toMatchObject({ verdict: 'retry', reason: 'proxy_failed' });
    expect(note).toEqual({ code: 'ECONNREFUSED' });
  });

  test.each<[string, (socket: Socket) => void]>([
    ['never answers', () => undefined],
    ['begins an answer', (socket) => void socket.write('HTTP/1.1 200 Conn')],
  ])('%s: it is cut off at the deadline', async (_how, onAsked) => {
    const { outcome } = await sentBy(onAsked, 200);
    expect(outcome).toMatchObject({ verdict: 'retry', reason: 'connection_timeout' });
  });
});
