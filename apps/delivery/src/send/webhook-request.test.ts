import { createHmac } from 'node:crypto';
import { verifyWebhook } from '@ghost/signing';
import { Webhook } from 'standardwebhooks';
import { describe, expect, test } from 'vitest';

import { onRequest } from '../../../../test/support/hostile/on-request.js';
import { rawServer, receiver } from '../../../../test/support/servers-of-a-test.js';
import {
  BODY,
  factsOf,
  ID,
  SECRET,
  webhookSender,
} from '../../../../test/support/webhook-sender.js';

describe('what is sent', () => {
  test('is the stored body with the headers of the contract, signed for this attempt', async () => {
    const target = await receiver();
    const at = Date.parse('2026-11-29T12:00:00.700Z');
    const { outcome } = await webhookSender({ now: () => at }).send(`${target.url}hook?x=1#f`, {
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

  test('passes the chain on as it was made, and history does not show it', async () => {
    const target = await receiver();
    const { send } = webhookSender();
    const job = { version: 1, kind: 'webhook', hookId: 7, event: 'ping', body: BODY } as const;
    const { outcome } = await send(target.url, { job: { ...job, chain: 'k7a1rQYJKig9pTLV' } });
    await send(target.url, { job });
    const [first, second] = target.requests();
    expect(first?.headers['x-ghost-chain']).toBe('k7a1rQYJKig9pTLV');
    expect(second?.headers).not.toHaveProperty('x-ghost-chain');
    expect(factsOf(outcome).requestHead).toMatchObject({ 'x-ghost-chain': '[redacted]' });
  });

  test('has each header once: an owner’s `Accept` for ours, and never one beside ours, in any case', async () => {
    const heads: string[] = [];
    const target = await rawServer((socket) =>
      onRequest(socket, (head) => {
        heads.push(head);
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
      }),
    );
    await webhookSender().send(`http://127.0.0.1:${target.port}/`, {
      hook: {
        headers: [
          ['Accept', 'text/plain'],
          ['X-Own', 'a'],
          ['X-Ghost-Event', 'forged'],
        ],
      },
    });
    const names = heads[0]?.split('\r\n').map((line) => line.split(':')[0]?.toLowerCase()) ?? [];
    expect(new Set(names).size).toBe(names.length);
    expect(heads[0]).toContain('\r\nAccept: text/plain\r\n');
    expect(heads[0]).toContain('\r\nX-Own: a\r\n');
    expect(heads[0]).not.toContain('forged');
  });

  test('verifies with our own verifier, the stock library, and GitHub’s scheme', async () => {
    const target = await receiver();
    await webhookSender().send(target.url, {
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
    const { send } = webhookSender({ now: () => at });
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

  test('fails alone where it cannot be put into a head, though it is signed while the connection opens', async () => {
    const target = await receiver();
    const { send } = webhookSender();
    const headers = [['x-own', 'two\r\nlines']] as const;
    await expect(send(target.url, { hook: { headers } })).rejects.toThrow(TypeError);
    expect((await send(target.url)).outcome.verdict).toBe('delivered');
    expect(target.requests()).toHaveLength(1);
  });

  test('is kept without its signatures', async () => {
    const target = await receiver();
    const { outcome } = await webhookSender().send(target.url);
    const { requestHead } = factsOf(outcome);
    expect(requestHead).toMatchObject({
      'x-ghost-delivery': ID,
      'x-ghost-signature': '[redacted]',
      'webhook-signature': '[redacted]',
    });
    expect(JSON.stringify(outcome)).not.toMatch(/v1[,=][0-9A-Za-z]/u);
  });
});
