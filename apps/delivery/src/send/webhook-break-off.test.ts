import { describe, expect, test } from 'vitest';

import { rawServer } from '../../../../test/support/servers-of-a-test.js';
import { waitUntil } from '../../../../test/support/wait-until.js';
import { webhookSender } from '../../../../test/support/webhook-sender.js';

describe('work that we break off', () => {
  test('is released with the reason, and its socket ends', async () => {
    const target = await rawServer(() => undefined);
    const stop = new AbortController();
    const sending = webhookSender().send(`http://127.0.0.1:${target.port}/`, { stop: stop.signal });
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
    const sending = webhookSender().send(`http://127.0.0.1:${target.port}/`, { stop: stop.signal });
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
    const { outcome } = await webhookSender().send(`http://127.0.0.1:${target.port}/`, {
      stop: AbortSignal.abort('lease_lost'),
    });
    expect(outcome).toEqual({ verdict: 'released', reason: 'lease_lost' });
    await waitUntil(() => target.open() === 0, { what: 'no socket' });
  });
});
