import { describe, expect, test } from 'vitest';

import { rawServer, receiver } from '../../../../test/support/servers-of-a-test.js';
import { factsOf, webhookSender } from '../../../../test/support/webhook-sender.js';

describe('an answer', () => {
  test('of 200 is a delivery, with what was answered and the times of each phase', async () => {
    const target = await receiver(() => ({ status: 200, headers: { 'x-a': 'b' }, body: 'thanks' }));
    const { outcome } = await webhookSender().send(target.url);
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
    const { send } = webhookSender();
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
    const { outcome } = await webhookSender().send(target.url);
    expect(outcome).toMatchObject({ verdict: 'retry', reason: 'redirect_not_followed' });
    expect(target.requests()).toHaveLength(1);
    expect(JSON.stringify(outcome)).not.toContain('token=T');
  });

  test('is stored whatever its bytes are: a delivery stays one', async () => {
    const target = await receiver(() => ({
      status: 200,
      body: Buffer.concat([Buffer.from('a\0b'), Buffer.from('caf\xe9\xff', 'latin1')]),
    }));
    const { outcome } = await webhookSender().send(target.url);
    expect(outcome.verdict).toBe('delivered');
    expect(factsOf(outcome).bodyExcerpt).toBe('a\uFFFDbcaf\uFFFD\uFFFD');
  });

  test('of 5 MB is read to a bound, kept to a smaller one, and its socket closed', async () => {
    const target = await receiver(() => ({ status: 200, body: Buffer.alloc(5_000_000, 'x') }));
    const { send, kept } = webhookSender();
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
    const { outcome } = await webhookSender().send(target.url);
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
    const { outcome } = await webhookSender().send(`http://127.0.0.1:${target.port}/`);
    expect(outcome).toMatchObject({ verdict: 'retry', reason: 'head_too_large' });
  });

  test('that is no HTTP is a failure', async () => {
    const target = await rawServer((socket) =>
      socket.once('data', () => socket.end('SSH-2.0-OpenSSH_9.2\r\n')),
    );
    const { outcome } = await webhookSender().send(`http://127.0.0.1:${target.port}/`);
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
    const { outcome } = await webhookSender().send(`http://127.0.0.1:${target.port}/`);
    expect(outcome).toMatchObject({ verdict: 'delivered', facts: { status: 204 } });
  });
});
