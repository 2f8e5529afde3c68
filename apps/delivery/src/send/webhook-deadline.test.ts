import { describe, expect, onTestFinished, test } from 'vitest';

import { watchClientSockets } from '../../../../test/support/hostile/client-sockets.js';
import { startFullBacklog } from '../../../../test/support/hostile/full-backlog.js';
import { dnsServer, receiver, untilTestEnds } from '../../../../test/support/servers-of-a-test.js';
import { waitUntil } from '../../../../test/support/wait-until.js';
import { webhookSender } from '../../../../test/support/webhook-sender.js';

// Its other phases: webhook-hostile.test.ts.
describe('the one deadline', () => {
  test('ends a connect that is never answered', async () => {
    const deadlineMs = 300;
    const target = untilTestEnds(await startFullBacklog());
    const sockets = watchClientSockets();
    onTestFinished(() => sockets.stop());
    const startedAt = performance.now();
    const { outcome } = await webhookSender({ deadlineMs }).send(
      `http://127.0.0.1:${target.port}/`,
    );
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(deadlineMs - 5);
    expect(outcome).toMatchObject({ verdict: 'retry', reason: 'connection_timeout' });
    await waitUntil(() => sockets.open() === 0, { what: 'the end of the socket' });
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
