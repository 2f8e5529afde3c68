import { describe, expect, test } from 'vitest';

import {
  dnsServer,
  rawServer,
  receiver,
  secureReceiver,
} from '../../../../test/support/servers-of-a-test.js';
import { EXPIRED_CERTIFICATE, TEST_CERTIFICATE } from '../../../../test/support/tls-certificate.js';
import { waitUntil } from '../../../../test/support/wait-until.js';
import { webhookSender } from '../../../../test/support/webhook-sender.js';

describe('a fault of the network', () => {
  test('is tried again: refused, reset, closed, no such name, DNS that fails', async () => {
    const closedPort = await rawServer(() => undefined);
    await closedPort.stop();
    const resetting = await receiver(() => 'reset');
    const closing = await rawServer((socket) => socket.once('data', () => socket.end()));
    const dns = await dnsServer((name) => (name === 'gone.example.com' ? 'nxdomain' : 'servfail'));
    const { send } = webhookSender({ dns });
    const reasonOf = async (url: string) => (await send(url)).outcome;
    expect(await reasonOf(`http://127.0.0.1:${closedPort.port}/`)).toMatchObject({
      verdict: 'retry',
      reason: 'connection_refused',
    });
    expect(await reasonOf(resetting.url)).toMatchObject({ reason: 'connection_reset' });
    expect(await reasonOf(`http://127.0.0.1:${closing.port}/`)).toMatchObject({
      reason: 'connection_closed',
    });
    expect(closing.connections()).toBe(1);
    expect(await reasonOf('http://gone.example.com:8080/')).toMatchObject({
      reason: 'dns_not_found',
    });
    expect(await reasonOf('http://broken.example.com:8080/')).toMatchObject({
      reason: 'dns_failed',
    });
  });

  test('a peer that speaks no TLS is no secure connection', async () => {
    const target = await rawServer((socket) => socket.once('data', () => socket.end('hello')));
    const { outcome } = await webhookSender().send(`https://127.0.0.1:${target.port}/`);
    expect(outcome).toMatchObject({ verdict: 'retry', reason: 'tls_protocol' });
  });
});

describe('a secure endpoint', () => {
  test('is asked for by its name, though its address is dialed', async () => {
    const target = await secureReceiver();
    const dns = await dnsServer(() => ['127.0.0.1']);
    const { send } = webhookSender({ dns, trust: TEST_CERTIFICATE });
    const { outcome } = await send(`https://hooks.example.com:${target.port}/x`);
    expect(outcome).toMatchObject({
      verdict: 'delivered',
      facts: { timings: { dns: expect.any(Number), tls: expect.any(Number) } },
    });
    expect(target.asked).toEqual(['hooks.example.com']);
    expect(target.heads[0]).toContain(`host: hooks.example.com:${target.port}\r\n`);
    expect((await send(`https://127.0.0.1:${target.port}/x`)).outcome.verdict).toBe('delivered');
  });

  test('whose certificate is for another name, or of no trusted authority, gets nothing', async () => {
    const target = await secureReceiver();
    const dns = await dnsServer(() => ['127.0.0.1']);
    for (const [host, trust, reason] of [
      ['hooks.example.net', TEST_CERTIFICATE, 'tls_wrong_host'],
      ['hooks.example.com', undefined, 'tls_self_signed'],
    ] as const) {
      const { send } = webhookSender({ dns, ...(trust === undefined ? {} : { trust }) });
      expect((await send(`https://${host}:${target.port}/`)).outcome).toMatchObject({
        verdict: 'retry',
        reason,
      });
    }
    expect(target.heads).toEqual([]);
  });
});

describe('a hook that takes any certificate', () => {
  test('gets its webhooks, and verifies again as soon as it is to', async () => {
    const target = await secureReceiver({ cert: EXPIRED_CERTIFICATE });
    const { send, kept } = webhookSender({ trust: TEST_CERTIFICATE });
    const url = `https://127.0.0.1:${target.port}/`;
    const insecure = { hook: { insecure: true } };
    expect((await send(url, insecure)).outcome.verdict).toBe('delivered');
    await waitUntil(() => kept.size === 1, { what: 'the connection to be kept' });
    expect((await send(url)).outcome).toMatchObject({ verdict: 'retry', reason: 'tls_expired' });
    expect((await send(url, insecure)).outcome.verdict).toBe('delivered');
    expect(target.heads).toHaveLength(2);
  });
});

describe('kept connections', () => {
  test('are used again, only by their own hook', async () => {
    let connections = 0;
    const target = await rawServer((socket) => {
      connections += 1;
      socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'));
    });
    const url = `http://127.0.0.1:${target.port}/`;
    const { send, kept } = webhookSender();
    for (let sent = 0; sent < 20; sent += 1) {
      expect((await send(url)).outcome.verdict).toBe('delivered');
      await waitUntil(() => kept.size === 1, { what: 'the connection to be kept', everyMs: 1 });
    }
    expect(connections).toBe(1);
    await send(url, {
      job: { version: 1, kind: 'webhook', hookId: 8, event: 'ping', body: '{}' },
    });
    expect(connections).toBe(2);
  });

  test('that the peer closed meanwhile cost no attempt: it is sent again at once, once', async () => {
    const target = await rawServer((socket, number) => {
      let requests = 0;
      socket.on('data', () => {
        requests += 1;
        // The first connection answers once and breaks off at the next request, unanswered.
        if (number === 1 && requests > 1) socket.resetAndDestroy();
        else socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
      });
    });
    const url = `http://127.0.0.1:${target.port}/`;
    const { send, kept } = webhookSender();
    await send(url);
    await waitUntil(() => kept.size === 1, { what: 'the connection to be kept' });
    expect((await send(url)).outcome.verdict).toBe('delivered');
    expect(target.connections()).toBe(2);
  });

  test('a new connection that is closed without an answer is a failed attempt', async () => {
    const target = await rawServer((socket) => socket.once('data', () => socket.destroy()));
    const { outcome } = await webhookSender().send(`http://127.0.0.1:${target.port}/`);
    expect(outcome.verdict).toBe('retry');
    expect(target.connections()).toBe(1);
  });

  test('a kept one that answers a byte and then breaks off is a failed attempt', async () => {
    const target = await rawServer((socket) => {
      let requests = 0;
      socket.on('data', () => {
        requests += 1;
        if (requests > 1) socket.end('HTTP/1.1 2');
        else socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
      });
    });
    const url = `http://127.0.0.1:${target.port}/`;
    const { send, kept } = webhookSender();
    await send(url);
    await waitUntil(() => kept.size === 1, { what: 'the connection to be kept' });
    expect((await send(url)).outcome.verdict).toBe('retry');
    expect(target.connections()).toBe(1);
  });
});
