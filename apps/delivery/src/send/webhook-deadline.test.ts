import type { Socket } from 'node:net';
import { describe, expect, test } from 'vitest';

import { dnsServer, rawServer, receiver } from '../../../../test/support/servers-of-a-test.js';
import { waitUntil } from '../../../../test/support/wait-until.js';
import {
  factsOf,
  type SenderSettings,
  webhookSender,
} from '../../../../test/support/webhook-sender.js';

describe('the one deadline', () => {
  const DEADLINE_MS = 300;
  const SLACK_MS = 700;

  async function timed(url: string, settings: SenderSettings = {}) {
    const startedAt = performance.now();
    const { outcome } = await webhookSender({ deadlineMs: DEADLINE_MS, ...settings }).send(url);
    const tookMs = performance.now() - startedAt;
    expect(tookMs).toBeGreaterThanOrEqual(DEADLINE_MS - 5);
    expect(tookMs).toBeLessThan(DEADLINE_MS + SLACK_MS);
    return outcome;
  }
  const drip = (socket: Socket, text: string) => {
    const timer = setInterval(() => socket.write(text), 20);
    socket.on('close', () => clearInterval(timer));
  };

  test.each<[string, string, (socket: Socket) => void]>([
    ['silence', 'response_timeout', () => undefined],
    [
      'a head that drips',
      'response_timeout',
      (socket) => {
        socket.write('HTTP/1.1 200 OK\r\n');
        drip(socket, 'x');
      },
    ],
    [
      'a status line that drips',
      'response_timeout',
      (socket) => {
        socket.write('HTTP/1.1 200 ');
        drip(socket, 'x');
      },
    ],
    [
      'announcements without end',
      'response_timeout',
      (socket) => drip(socket, 'HTTP/1.1 103 Early Hints\r\n\r\n'),
    ],
    [
      'an error whose body drips',
      'http_5xx',
      (socket) => {
        socket.write('HTTP/1.1 500 No\r\ncontent-length: 100000\r\n\r\n');
        drip(socket, 'x');
      },
    ],
  ])('ends %s, and its socket', async (_what, reason, behave) => {
    const target = await rawServer((socket) => socket.once('data', () => behave(socket)));
    const outcome = await timed(`http://127.0.0.1:${target.port}/`);
    expect(outcome).toMatchObject({ verdict: 'retry', reason });
    await waitUntil(() => target.open() === 0, { what: 'the end of the socket' });
  });

  test('a complete 2xx head is a delivery, though its body never ends', async () => {
    const target = await rawServer((socket) =>
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\nstart');
        drip(socket, '.');
      }),
    );
    const outcome = await timed(`http://127.0.0.1:${target.port}/`);
    expect(outcome).toMatchObject({ verdict: 'delivered', facts: { status: 200 } });
    expect(factsOf(outcome).bodyExcerpt).toMatch(/^start/u);
    await waitUntil(() => target.open() === 0, { what: 'the end of the socket' });
  });

  test('ends a TLS handshake that is never answered', async () => {
    const target = await rawServer(() => undefined);
    const outcome = await timed(`https://127.0.0.1:${target.port}/`);
    expect(outcome).toMatchObject({ verdict: 'retry', reason: 'tls_timeout' });
    await waitUntil(() => target.open() === 0, { what: 'the end of the socket' });
  });

  test('ends a look-up that is never answered; others are not kept waiting', async () => {
    const dns = await dnsServer((name) => (name === 'ok.example.com' ? ['127.0.0.1'] : 'silent'));
    const target = await receiver();
    const { send } = webhookSender({ dns, deadlineMs: 1_500 });
    const startedAt = performance.now();
    const hung = Array.from({ length: 40 }, (_, index) =>
      send(`http://hole-${index % 20}.example.com:${target.port}/`),
    );
    const { outcome } = await send(`http://ok.example.com:${target.port}/`);
    expect(outcome.verdict).toBe('delivered');
    expect(performance.now() - startedAt).toBeLessThan(1_000);
    for (const one of await Promise.all(hung)) {
      expect(one.outcome).toMatchObject({ verdict: 'retry', reason: 'dns_timeout' });
    }
  });
});
