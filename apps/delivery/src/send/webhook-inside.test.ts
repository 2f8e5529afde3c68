import { subscribe, unsubscribe } from 'node:diagnostics_channel';

import { GENERIC_REFUSAL } from '@ghost/policy';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';

import {
  EMBEDDINGS,
  frame,
  innerAnswer,
  octetsOf,
  refusedIpv4,
  spelledIpv4,
} from '../../../../test/support/inner-addresses.js';
import { dnsServer, rawServer, receiver } from '../../../../test/support/servers-of-a-test.js';
import {
  factsOf,
  LOOPBACK_ALLOWED,
  policyOf,
  PUBLIC_ONLY,
  webhookSender,
} from '../../../../test/support/webhook-sender.js';

/** Plays an address on the public network; the rest of loopback is inside. */
const PUBLIC = '127.0.0.2';
const INSIDE = '127.0.0.1';
const ONE_IS_PUBLIC = policyOf({ allowCidrs: `${PUBLIC}/32` });
const ANSWER = 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n';

/** Counts what is dialed, wherever it leads, until the test ends. */
function dialedSockets() {
  let count = 0;
  const onSocket = () => {
    count += 1;
  };
  subscribe('net.client.socket', onSocket);
  onTestFinished(() => {
    unsubscribe('net.client.socket', onSocket);
  });
  return () => count;
}

/** Listens on both loopback addresses, at one port. */
async function inside() {
  const v4 = await rawServer(() => undefined, INSIDE);
  // Some machines have no IPv6.
  const v6 = await rawServer(() => undefined, '::1', v4.port).catch(() => undefined);
  return { port: v4.port, connections: () => v4.connections() + (v6?.connections() ?? 0) };
}

describe('no inner address gets a socket', () => {
  test('in any spelling of a URL', async () => {
    const { port, connections } = await inside();
    const dns = await dnsServer((_name, type) => [type === 'A' ? INSIDE : '::1']);
    const { send } = webhookSender({ policy: PUBLIC_ONLY, dns });
    const dialed = dialedSockets();
    await fc.assert(
      fc.asyncProperty(spelledIpv4, frame, async ({ host }, wrap) => {
        const { outcome } = await send(wrap(host, `:${port}`));
        expect(outcome.verdict).not.toBe('delivered');
        expect(dialed()).toBe(0);
      }),
      { numRuns: 500 },
    );
    expect(connections()).toBe(0);
  });

  test('embedded in any IPv6 form of a URL', async () => {
    const { port, connections } = await inside();
    const senders = [PUBLIC_ONLY, policyOf({ allowNat64: true })].map((policy) =>
      webhookSender({ policy }),
    );
    const dialed = dialedSockets();
    const form = fc.constantFrom(...Object.values(EMBEDDINGS));
    await fc.assert(
      fc.asyncProperty(refusedIpv4, form, async (value, embed) => {
        for (const { send } of senders) {
          const { outcome } = await send(`http://[${embed(octetsOf(value))}]:${port}/`);
          expect(outcome).toMatchObject({ verdict: 'hold', reason: 'forbidden_address' });
          expect(dialed()).toBe(0);
        }
      }),
      { numRuns: 200 },
    );
    expect(connections()).toBe(0);
  });

  test('as an answer of the DNS, alone or beside public ones', async () => {
    const { port, connections } = await inside();
    let answers: string[] = [];
    const dns = await dnsServer(() => answers);
    const { send } = webhookSender({ policy: PUBLIC_ONLY, dns });
    const dialed = dialedSockets();
    const outer = fc.constantFrom('93.184.215.14', '2606:4700:4700::1111');
    const mixed = fc
      .tuple(fc.array(outer, { maxLength: 3 }), innerAnswer, fc.array(outer, { maxLength: 3 }))
      .map(([before, inner, after]) => [...before, inner, ...after]);
    await fc.assert(
      fc.asyncProperty(mixed, async (drawn) => {
        answers = drawn;
        const { outcome, note } = await send(`http://rebound.example.com:${port}/`);
        expect(outcome).toMatchObject({ verdict: 'retry', reason: 'forbidden_address' });
        expect(factsOf(outcome).message).toBe(GENERIC_REFUSAL);
        expect(note).toHaveProperty('refusal');
        expect(dialed()).toBe(0);
      }),
      { numRuns: 200 },
    );
    expect(connections()).toBe(0);
  });

  test('though each of them would, were it allowed', async () => {
    const { port, connections } = await inside();
    const dns = await dnsServer(() => [INSIDE]);
    const { send } = webhookSender({ policy: LOOPBACK_ALLOWED, dns, deadlineMs: 200 });
    const dialed = dialedSockets();
    for (const host of ['127.0.0.1', '0x7f.1', '127。0。0。1', 'rebound.example.com']) {
      await send(`http://${host}:${port}/`);
    }
    expect([dialed(), connections()]).toEqual([4, 4]);
  });
});

describe('a name that leads outside, then inside', () => {
  async function rebinding(answerOf: (question: number) => string, answer = ANSWER) {
    const inner = await inside();
    const outside = await rawServer(
      (socket) => socket.on('data', () => socket.write(answer)),
      PUBLIC,
      inner.port,
    );
    let questions = 0;
    const dns = await dnsServer((_name, type) => {
      if (type !== 'A') return [];
      questions += 1;
      return [answerOf(questions)];
    });
    const { send, kept } = webhookSender({ policy: ONE_IS_PUBLIC, dns });
    const url = `http://rebinding.example.com:${outside.port}/`;
    return { outside, inner, kept, send: () => send(url) };
  }

  test('by turns, with a TTL of 0: what was judged is what is dialed', async () => {
    const closing = 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n';
    const turns = (question: number) => (question % 2 === 1 ? PUBLIC : INSIDE);
    const { send, outside, inner } = await rebinding(turns, closing);
    const verdicts: string[] = [];
    for (let sent = 0; sent < 10; sent += 1) verdicts.push((await send()).outcome.verdict);
    expect(verdicts).toEqual(Array.from({ length: 5 }, () => ['delivered', 'retry']).flat());
    expect([outside.connections(), inner.connections()]).toEqual([5, 0]);
  });

  test('while its connection is kept: the kept one goes where it went, a new one is refused', async () => {
    const { send, outside, inner, kept } = await rebinding((question) =>
      question === 1 ? PUBLIC : INSIDE,
    );
    expect((await send()).outcome.verdict).toBe('delivered');
    await expect.poll(() => kept.size).toBe(1);
    expect((await send()).outcome.verdict).toBe('delivered');
    kept.closeAll();
    const { outcome, note } = await send();
    expect(outcome).toMatchObject({ verdict: 'retry', reason: 'forbidden_address' });
    expect(note).toMatchObject({ refusal: 'loopback', address: INSIDE });
    expect([outside.connections(), inner.connections()]).toEqual([1, 0]);
  });
});

describe('an answer that points inside', () => {
  const places = [
    '//127.0.0.1:PORT/',
    'http://127.0.0.1:PORT/',
    'http://[::1]:PORT/',
    'http://2130706433:PORT/',
    'http://localhost:PORT/',
    'http://169.254.169.254/latest/meta-data/',
    'file:///etc/passwd',
    'gopher://127.0.0.1:PORT/_x',
    '/\\127.0.0.1:PORT/',
  ];

  test.each([300, 301, 302, 303, 304, 305, 307, 308])('%d is not followed', async (status) => {
    const inner = await inside();
    let place = '';
    const outside = await receiver(() => ({ status, headers: { location: place } }), PUBLIC);
    const { send } = webhookSender({ policy: ONE_IS_PUBLIC });
    for (const template of places) {
      place = template.replace('PORT', String(inner.port));
      const { outcome } = await send(outside.url);
      expect(outcome).toMatchObject({ verdict: 'retry', facts: { status } });
    }
    expect(outside.requests()).toHaveLength(places.length);
    expect(inner.connections()).toBe(0);
  });

  test('by Refresh, Link, Alt-Svc or Content-Location is a delivery, and no more', async () => {
    const inner = await inside();
    const there = `http://127.0.0.1:${inner.port}/`;
    const headers = {
      refresh: `0;url=${there}`,
      link: `<${there}>; rel=preload`,
      'alt-svc': `http/1.1="127.0.0.1:${inner.port}"`,
      'content-location': there,
      location: there,
    };
    const outside = await receiver(() => ({ status: 200, headers }), PUBLIC);
    const { send } = webhookSender({ policy: ONE_IS_PUBLIC });
    for (let sent = 0; sent < 3; sent += 1) {
      expect((await send(outside.url)).outcome.verdict).toBe('delivered');
    }
    expect(outside.requests()).toHaveLength(3);
    expect(inner.connections()).toBe(0);
  });
});
