import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { createServer as createTlsServer, type TLSSocket } from 'node:tls';

import { type AttemptOutcome, JOB_VERSION } from '@ghost/contract';
import { type AddressPolicy, GENERIC_REFUSAL, parseAddressPolicy } from '@ghost/policy';
import { verifyWebhook } from '@ghost/signing';
import { Webhook } from 'standardwebhooks';
import { Client } from 'undici';
import { afterAll, afterEach, describe, expect, test } from 'vitest';

import {
  type DnsAnswer,
  type DnsServer,
  startDnsServer,
} from '../../../../test/support/dns-server.js';
import { type RawServer, startRawServer } from '../../../../test/support/raw-server.js';
import {
  TEST_CERTIFICATE,
  TEST_CERTIFICATE_KEY,
} from '../../../../test/support/tls-certificate.js';
import { waitUntil } from '../../../../test/support/wait-until.js';
import {
  type ReceiverHandler,
  startReceiver,
  type WebhookReceiver,
} from '../../../../test/support/webhook-receiver.js';
import { KeptConnections } from '../net/kept-connections.js';
import { createResolver, type Resolver } from '../net/resolver.js';
import type { Hook } from './hook-directory.js';
import { createWebhookSender } from './webhook.js';
import type { WebhookDelivery } from './webhook-request.js';

const ID = '01934f6e-8a1c-7c3a-9b1f-5f3c2d1e0a9b';
const EVENT_ID = '01934f6e-0000-7000-8000-00000000abcd';
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const BODY = '{"text":"grüße 🎉 \u2028"}';

function policyOf(raw: Parameters<typeof parseAddressPolicy>[0]): AddressPolicy {
  const parsed = parseAddressPolicy(raw);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.faults));
  return parsed.policy;
}
const LOOPBACK_ALLOWED = policyOf({ allowCidrs: '127.0.0.0/8' });
const PUBLIC_ONLY = policyOf({});

const cleanups: (() => unknown)[] = [];
const resolvers: Resolver[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0)) await clean();
});
afterAll(() => {
  for (const resolver of resolvers) resolver.close();
});

async function receiver(handler?: ReceiverHandler): Promise<WebhookReceiver> {
  const started = await startReceiver(handler);
  cleanups.push(() => started.stop());
  return started;
}
async function rawServer(onSocket: (socket: Socket, number: number) => void): Promise<RawServer> {
  const started = await startRawServer(onSocket);
  cleanups.push(() => started.stop());
  return started;
}
async function dnsServer(answer: (name: string, type: string) => DnsAnswer): Promise<DnsServer> {
  const started = await startDnsServer(({ name, type }) => answer(name, type));
  cleanups.push(() => started.stop());
  return started;
}

async function secureReceiver() {
  const asked: (string | false | null)[] = [];
  const heads: string[] = [];
  const server = createTlsServer(
    { key: TEST_CERTIFICATE_KEY, cert: TEST_CERTIFICATE },
    (socket: TLSSocket) => {
      asked.push(socket.servername);
      socket.on('error', () => undefined);
      socket.on('data', (chunk) => {
        heads.push(chunk.toString('latin1'));
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
      });
    },
  ).listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanups.push(() => server.close());
  return { asked, heads, port: (server.address() as AddressInfo).port };
}

interface SenderSettings {
  policy?: AddressPolicy;
  dns?: DnsServer;
  deadlineMs?: number;
  now?: () => number;
  trust?: string;
  proxyPort?: number;
}

/** A sender of its own; the same one again shares its kept connections. */
function sender({ policy, dns, deadlineMs, now, trust, proxyPort }: SenderSettings = {}) {
  const resolver = createResolver(dns ? [dns.address] : []);
  resolvers.push(resolver);
  const kept = new KeptConnections();
  cleanups.push(() => kept.closeAll());
  const send = createWebhookSender({
    dialer: {
      resolver,
      policy: policy ?? LOOPBACK_ALLOWED,
      ...(trust === undefined ? {} : { certificateAuthorities: [trust] }),
      ...(proxyPort === undefined
        ? {}
        : { proxy: { host: '127.0.0.1', port: proxyPort, secure: false, user: 'u', pass: 'p' } }),
    },
    kept,
    loadClient: async () => Client,
    deadlineMs: deadlineMs ?? 5_000,
    userAgent: 'Ghost-Delivery/test',
    now: now ?? (() => Date.now()),
  });
  return {
    kept,
    send: (
      url: string,
      more: Partial<WebhookDelivery> & { hook?: Partial<Hook>; stop?: AbortSignal } = {},
    ) => {
      const { hook, stop, ...delivery } = more;
      return send(
        {
          id: ID,
          eventId: EVENT_ID,
          tries: 0,
          redelivery: false,
          job: {
            version: JOB_VERSION,
            kind: 'webhook',
            hookId: 7,
            event: 'comment.created',
            body: BODY,
          },
          ...delivery,
        },
        { id: 7, url, active: true, githubSignature: false, secrets: [SECRET], ...hook },
        stop ?? new AbortController().signal,
      );
    },
  };
}

function factsOf(outcome: AttemptOutcome) {
  const facts = 'facts' in outcome ? outcome.facts : null;
  if (!facts) throw new Error(`${outcome.verdict} has no facts`);
  return facts;
}

describe('what is sent', () => {
  test('is the stored body with the headers of the contract, signed for this attempt', async () => {
    const target = await receiver();
    const at = Date.parse('2026-11-29T12:00:00.700Z');
    const { outcome } = await sender({ now: () => at }).send(`${target.url}hook?x=1#f`, {
      tries: 2,
    });
    expect(outcome.verdict).toBe('delivered');
    const [request] = target.requests();
    expect(request?.method).toBe('POST');
    expect(request?.url).toBe('/hook?x=1');
    expect(request?.body).toEqual(Buffer.from(BODY, 'utf8'));
    expect(request?.headers).toMatchObject({
      host: `127.0.0.1:${target.port}`,
      'content-type': 'application/json; charset=utf-8',
      'content-length': String(Buffer.byteLength(BODY)),
      'accept-encoding': 'identity',
      'user-agent': 'Ghost-Delivery/test',
      'x-ghost-event': 'comment.created',
      'x-ghost-delivery': ID,
      'x-ghost-hook-id': '7',
      'x-ghost-attempt': '3',
      'webhook-id': ID,
      'webhook-timestamp': '1795953600',
    });
    expect(request?.headers).not.toHaveProperty('x-ghost-redelivery');
    expect(request?.headers).not.toHaveProperty('x-hub-signature-256');
    expect(request?.headers['traceparent']).toMatch(
      /^00-01934f6e00007000800000000000abcd-[0-9a-f]{16}-01$/u,
    );
  });

  test('verifies with our own verifier, the stock library, and GitHub’s scheme', async () => {
    const target = await receiver();
    await sender().send(target.url, {
      redelivery: true,
      hook: { githubSignature: true, secrets: [SECRET, 'plain old secret'] },
    });
    const [request] = target.requests();
    const headers = request?.headers as Record<string, string>;
    const body = request?.body ?? Buffer.alloc(0);
    expect(headers['x-ghost-redelivery']).toBe('true');
    expect(() => verifyWebhook({ headers, body, secret: 'plain old secret' })).not.toThrow();
    expect(new Webhook(SECRET).verify(body.toString(), headers)).toEqual(JSON.parse(BODY));
    const digest = createHmac('sha256', SECRET).update(body).digest('hex');
    expect(headers['x-hub-signature-256']).toBe(`sha256=${digest}`);
  });

  test('is signed anew on each attempt, with the same id and bytes', async () => {
    const target = await receiver(() => 500);
    let at = Date.parse('2026-11-29T12:00:00Z');
    const { send } = sender({ now: () => at });
    await send(target.url);
    at += 3_600_000;
    await send(target.url, { tries: 1 });
    const [first, second] = target.requests();
    expect(second?.body).toEqual(first?.body);
    expect(second?.headers['x-ghost-delivery']).toBe(first?.headers['x-ghost-delivery']);
    expect(second?.headers['webhook-timestamp']).not.toBe(first?.headers['webhook-timestamp']);
    expect(second?.headers['webhook-signature']).not.toBe(first?.headers['webhook-signature']);
    expect(second?.headers['x-ghost-attempt']).toBe('2');
  });

  test('is kept without its signatures', async () => {
    const target = await receiver();
    const { outcome } = await sender().send(target.url);
    const { requestHead } = factsOf(outcome);
    expect(requestHead).toMatchObject({
      'x-ghost-delivery': ID,
      'x-ghost-signature': '[redacted]',
      'webhook-signature': '[redacted]',
    });
    expect(JSON.stringify(outcome)).not.toMatch(/v1[,=][0-9A-Za-z]/u);
  });
});

describe('an answer', () => {
  test('of 200 is a delivery, with what was answered and the times of each phase', async () => {
    const target = await receiver(() => ({ status: 200, headers: { 'x-a': 'b' }, body: 'thanks' }));
    const { outcome } = await sender().send(target.url);
    expect(outcome.verdict).toBe('delivered');
    expect(factsOf(outcome)).toMatchObject({
      status: 200,
      bodyExcerpt: 'thanks',
      responseHead: { 'x-a': 'b' },
      timings: {
        connect: expect.any(Number),
        firstByte: expect.any(Number),
        total: expect.any(Number),
      },
    });
  });

  test('of 500 retries; of 410 holds; of 429 slows the lane as long as it asks for', async () => {
    const target = await receiver(({ url }) =>
      url === '/429' ? { status: 429, headers: { 'retry-after': '77' } } : Number(url.slice(1)),
    );
    const { send } = sender();
    expect((await send(`${target.url}500`)).outcome).toMatchObject({
      verdict: 'retry',
      reason: 'http_5xx',
      facts: { status: 500, message: 'The endpoint answered 500.' },
    });
    expect((await send(`${target.url}410`)).outcome).toMatchObject({
      verdict: 'hold',
      reason: 'gone',
    });
    expect((await send(`${target.url}429`)).outcome).toMatchObject({
      verdict: 'retry',
      reason: 'rate_limited',
      slowsLane: true,
      retryAfterMs: 77_000,
    });
  });

  test.each([301, 302, 303, 307, 308])('of %d is not followed', async (status) => {
    const target = await receiver(({ url }) =>
      url === '/' ? { status, headers: { location: '/elsewhere?token=T' } } : 200,
    );
    const { outcome } = await sender().send(target.url);
    expect(outcome).toMatchObject({ verdict: 'retry', reason: 'redirect_not_followed' });
    expect(target.requests()).toHaveLength(1);
    expect(JSON.stringify(outcome)).not.toContain('token=T');
  });

  test('is stored whatever its bytes are: a delivery stays one', async () => {
    const target = await receiver(() => ({
      status: 200,
      body: Buffer.concat([Buffer.from('a\0b'), Buffer.from('caf\xe9\xff', 'latin1')]),
    }));
    const { outcome } = await sender().send(target.url);
    expect(outcome.verdict).toBe('delivered');
    expect(factsOf(outcome).bodyExcerpt).toBe('a\uFFFDbcaf\uFFFD\uFFFD');
  });

  test('of 5 MB is read to a bound, kept to a smaller one, and its socket closed', async () => {
    const target = await receiver(() => ({ status: 200, body: Buffer.alloc(5_000_000, 'x') }));
    const { send, kept } = sender();
    const { outcome } = await send(target.url);
    expect(outcome.verdict).toBe('delivered');
    expect(factsOf(outcome).bodyExcerpt).toHaveLength(16_384);
    expect(kept.size).toBe(0);
  });

  test('is not decompressed', async () => {
    const target = await receiver(() => ({
      status: 200,
      headers: { 'content-encoding': 'gzip' },
      body: 'not gzip at all',
    }));
    const { outcome } = await sender().send(target.url);
    expect(factsOf(outcome).bodyExcerpt).toBe('not gzip at all');
  });

  test.each([
    ['10 KB in one field', `x-long: ${'y'.repeat(10_000)}\r\n`],
    ['20 KB in ten fields', `x-long: ${'y'.repeat(2_000)}\r\n`.repeat(10)],
    ['5,000 fields', 'x: y\r\n'.repeat(5_000)],
    ['101 short fields', 'x: y\r\n'.repeat(101)],
  ])('with a head of %s is a failure, 200 or not', async (_what, fields) => {
    const target = await rawServer((socket) =>
      socket.once('data', () => socket.end(`HTTP/1.1 200 OK\r\n${fields}\r\n`)),
    );
    const { outcome } = await sender().send(`http://127.0.0.1:${target.port}/`);
    expect(outcome).toMatchObject({ verdict: 'retry', reason: 'head_too_large' });
  });

  test('that is no HTTP is a failure', async () => {
    const target = await rawServer((socket) =>
      socket.once('data', () => socket.end('SSH-2.0-OpenSSH_9.2\r\n')),
    );
    const { outcome } = await sender().send(`http://127.0.0.1:${target.port}/`);
    expect(outcome).toMatchObject({ verdict: 'retry', reason: 'bad_response' });
    expect(JSON.stringify(outcome)).not.toContain('SSH');
  });

  test('announced by 103 is waited for', async () => {
    const target = await rawServer((socket) =>
      socket.once('data', () =>
        socket.end(
          'HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n',
        ),
      ),
    );
    const { outcome } = await sender().send(`http://127.0.0.1:${target.port}/`);
    expect(outcome).toMatchObject({ verdict: 'delivered', facts: { status: 204 } });
  });
});

describe('the one deadline', () => {
  const DEADLINE_MS = 300;
  const SLACK_MS = 700;

  async function timed(url: string, settings: SenderSettings = {}) {
    const startedAt = performance.now();
    const { outcome } = await sender({ deadlineMs: DEADLINE_MS, ...settings }).send(url);
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
    const { send } = sender({ dns, deadlineMs: 1_500 });
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

describe('a fault of the network', () => {
  test('is tried again: refused, reset, closed, no such name, DNS that fails', async () => {
    const closedPort = await rawServer(() => undefined);
    await closedPort.stop();
    const resetting = await receiver(() => 'reset');
    const closing = await rawServer((socket) => socket.once('data', () => socket.end()));
    const dns = await dnsServer((name) => (name === 'gone.example.com' ? 'nxdomain' : 'servfail'));
    const { send } = sender({ dns });
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
    const { outcome } = await sender().send(`https://127.0.0.1:${target.port}/`);
    expect(outcome).toMatchObject({ verdict: 'retry', reason: 'tls_failed' });
  });
});

describe('a secure endpoint', () => {
  test('is asked for by its name, though its address is dialed', async () => {
    const target = await secureReceiver();
    const dns = await dnsServer(() => ['127.0.0.1']);
    const { send } = sender({ dns, trust: TEST_CERTIFICATE });
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
    for (const [host, trust] of [
      ['hooks.example.net', TEST_CERTIFICATE],
      ['hooks.example.com', undefined],
    ] as const) {
      const { send } = sender({ dns, ...(trust === undefined ? {} : { trust }) });
      expect((await send(`https://${host}:${target.port}/`)).outcome).toMatchObject({
        verdict: 'retry',
        reason: 'tls_certificate',
      });
    }
    expect(target.heads).toEqual([]);
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
    const { send, kept } = sender();
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
    const { send, kept } = sender();
    await send(url);
    await waitUntil(() => kept.size === 1, { what: 'the connection to be kept' });
    expect((await send(url)).outcome.verdict).toBe('delivered');
    expect(target.connections()).toBe(2);
  });

  test('a new connection that is closed without an answer is a failed attempt', async () => {
    const target = await rawServer((socket) => socket.once('data', () => socket.destroy()));
    const { outcome } = await sender().send(`http://127.0.0.1:${target.port}/`);
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
    const { send, kept } = sender();
    await send(url);
    await waitUntil(() => kept.size === 1, { what: 'the connection to be kept' });
    expect((await send(url)).outcome.verdict).toBe('retry');
    expect(target.connections()).toBe(1);
  });
});

describe('nobody reaches inside', () => {
  test.each([
    'http://127.0.0.1:PORT/',
    'http://localhost:PORT/',
    'http://[::1]:PORT/',
    'http://[::ffff:127.0.0.1]:PORT/',
    'http://2130706433:PORT/',
    'http://0x7f.1:PORT/',
    'http://0.0.0.0:PORT/',
    'http://169.254.169.254/',
  ])('%s holds its lane, and no connection is made', async (template) => {
    const target = await rawServer(() => undefined);
    const url = template.replace('PORT', String(target.port));
    const { outcome, note } = await sender({ policy: PUBLIC_ONLY }).send(url);
    expect(outcome).toMatchObject({
      verdict: 'hold',
      reason: 'forbidden_address',
      facts: { message: GENERIC_REFUSAL, timings: { total: 0 } },
    });
    expect(JSON.stringify(outcome)).not.toContain(String(target.port));
    expect(note).toHaveProperty('refusal');
    expect(target.connections()).toBe(0);
  });

  test('a name that leads inside retries, with one generic sentence', async () => {
    const target = await rawServer(() => undefined);
    const dns = await dnsServer(() => ['127.0.0.1']);
    const { outcome, note } = await sender({ policy: PUBLIC_ONLY, dns }).send(
      `http://inside.example.com:${target.port}/`,
    );
    expect(outcome).toMatchObject({
      verdict: 'retry',
      reason: 'forbidden_address',
      facts: { message: GENERIC_REFUSAL, timings: { total: 0 } },
    });
    expect(JSON.stringify(outcome)).not.toContain('127.0.0.1');
    expect(note).toEqual({ refusal: 'loopback', address: '127.0.0.1' });
    expect(target.connections()).toBe(0);
  });

  test.each<[string, Record<string, string[]>]>([
    ['a public A beside an inner A', { A: ['93.184.215.14', '10.0.0.1'], AAAA: [] }],
    ['a public A beside an inner AAAA', { A: ['127.0.0.2'], AAAA: ['::1'] }],
    ['an AAAA that maps an inner IPv4', { A: ['127.0.0.2'], AAAA: ['::ffff:7f00:1'] }],
  ])('%s refuses the whole answer', async (_what, answers) => {
    const target = await rawServer(() => undefined);
    const dns = await dnsServer((_name, type) => answers[type] ?? []);
    // 127.0.0.2 plays the public address.
    const policy = policyOf({ allowCidrs: '127.0.0.2/32' });
    const { outcome } = await sender({ policy, dns }).send(
      `http://mixed.example.com:${target.port}/`,
    );
    expect(outcome).toMatchObject({ verdict: 'retry', reason: 'forbidden_address' });
    expect(target.connections()).toBe(0);
  });

  test('a name that changes its address is judged at each connection', async () => {
    const target = await rawServer((socket) =>
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n')),
    );
    let rebound = false;
    const dns = await dnsServer((_name, type) =>
      type === 'A' ? [rebound ? '127.0.0.9' : '127.0.0.1'] : [],
    );
    const policy = policyOf({ allowCidrs: '127.0.0.1/32' });
    const { send } = sender({ policy, dns });
    const url = `http://rebinding.example.com:${target.port}/`;
    expect((await send(url)).outcome.verdict).toBe('delivered');
    rebound = true;
    expect((await send(url)).outcome).toMatchObject({ reason: 'forbidden_address' });
    expect(target.connections()).toBe(1);
    // One look-up a connection: what is judged is what is dialed.
    expect(dns.questions().filter(({ type }) => type === 'A')).toHaveLength(2);
  });

  test('a port or form that the policy refuses holds with what is wrong', async () => {
    const { send } = sender();
    const { outcome } = await send('http://example.com:6379/');
    expect(outcome).toMatchObject({ verdict: 'hold', reason: 'invalid_url' });
    expect(factsOf(outcome).message).toContain('port');
  });
});

describe('an egress proxy', () => {
  /** Tunnels everything to one port, and says what it was asked. */
  async function proxyTo(port: number, answer = 'HTTP/1.1 200 Connection established') {
    const asked: string[] = [];
    const server = await rawServer((socket) =>
      socket.once('data', (chunk) => {
        asked.push(chunk.toString());
        socket.write(`${answer}\r\n\r\n`);
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
    const { outcome } = await sender(settings).send('http://hooks.example.com:8080/x');
    expect(outcome.verdict).toBe('delivered');
    expect(proxy.asked).toEqual([
      'CONNECT hooks.example.com:8080 HTTP/1.1\r\nhost: hooks.example.com:8080\r\nproxy-authorization: Basic dTpw\r\n\r\n',
    ]);
    expect(target.requests()[0]?.headers.host).toBe('hooks.example.com:8080');
    expect(target.requests()[0]?.headers).not.toHaveProperty('proxy-authorization');

    const secure = await secureReceiver();
    const secureProxy = await proxyTo(secure.port);
    const sent = await sender({
      policy: PUBLIC_ONLY,
      proxyPort: secureProxy.port,
      trust: TEST_CERTIFICATE,
    }).send('https://hooks.example.com/x');
    expect(sent.outcome.verdict).toBe('delivered');
    expect(secure.asked).toEqual(['hooks.example.com']);
  });

  test('that forbids a destination is a refused address; one that fails is tried again', async () => {
    const target = await receiver();
    const forbidding = await proxyTo(target.port, 'HTTP/1.1 403 Forbidden');
    const { send } = sender({ policy: PUBLIC_ONLY, proxyPort: forbidding.port });
    expect((await send('http://hooks.example.com/')).outcome).toMatchObject({
      verdict: 'retry',
      reason: 'forbidden_address',
      facts: { message: GENERIC_REFUSAL, timings: { total: 0 } },
    });
    const broken = await proxyTo(target.port, 'HTTP/1.1 502 Bad Gateway');
    expect(
      (
        await sender({ policy: PUBLIC_ONLY, proxyPort: broken.port }).send(
          'http://hooks.example.com/',
        )
      ).outcome,
    ).toMatchObject({ verdict: 'retry', reason: 'proxy_failed' });
    expect(target.requests()).toHaveLength(0);
  });

  test('lifts no rule for literals', async () => {
    const target = await receiver();
    const proxy = await proxyTo(target.port);
    const { outcome } = await sender({ policy: PUBLIC_ONLY, proxyPort: proxy.port }).send(
      target.url,
    );
    expect(outcome.verdict).toBe('hold');
    expect(proxy.asked).toEqual([]);
  });

  test('that never answers is cut off at the deadline', async () => {
    const silent = await rawServer(() => undefined);
    const { outcome } = await sender({
      policy: PUBLIC_ONLY,
      proxyPort: silent.port,
      deadlineMs: 200,
    }).send('http://hooks.example.com/');
    expect(outcome).toMatchObject({ verdict: 'retry', reason: 'connection_timeout' });
    await waitUntil(() => silent.open() === 0, { what: 'the end of the socket' });
  });
});

describe('work that we break off', () => {
  test('is released with the reason, and its socket ends', async () => {
    const target = await rawServer(() => undefined);
    const stop = new AbortController();
    const sending = sender().send(`http://127.0.0.1:${target.port}/`, { stop: stop.signal });
    await waitUntil(() => target.connections() === 1, { what: 'the connection' });
    stop.abort('shutdown');
    expect((await sending).outcome).toEqual({ verdict: 'released', reason: 'shutdown' });
    await waitUntil(() => target.open() === 0, { what: 'the end of the socket' });
  });

  test.each([
    [200, { verdict: 'delivered' }],
    [503, { verdict: 'retry', reason: 'unavailable' }],
  ])('after a complete head of %i is judged by it', async (status, expected) => {
    let answered = (): void => undefined;
    const headSent = new Promise<void>((resolve) => {
      answered = resolve;
    });
    const target = await rawServer((socket) => {
      socket.once('data', () => {
        socket.write(`HTTP/1.1 ${status} X\r\ncontent-length: 1000\r\n\r\nok`, () => answered());
      });
    });
    const stop = new AbortController();
    const sending = sender().send(`http://127.0.0.1:${target.port}/`, { stop: stop.signal });
    await headSent;
    // The loop reads in the turn after the write what loopback has by then.
    for (let turn = 0; turn < 10; turn += 1) await new Promise((done) => setImmediate(done));
    stop.abort('shutdown');
    const { outcome } = await sending;
    expect(outcome).toMatchObject({ ...expected, facts: { status, bodyExcerpt: 'ok' } });
    await waitUntil(() => target.open() === 0, { what: 'the end of the socket' });
  });

  test('that had not begun makes no connection', async () => {
    const target = await rawServer(() => undefined);
    const { outcome } = await sender().send(`http://127.0.0.1:${target.port}/`, {
      stop: AbortSignal.abort('lease_lost'),
    });
    expect(outcome).toEqual({ verdict: 'released', reason: 'lease_lost' });
    await waitUntil(() => target.open() === 0, { what: 'no socket' });
  });
});
