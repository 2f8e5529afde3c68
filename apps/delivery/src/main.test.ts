import { readFileSync } from 'node:fs';

import { hookLane } from '@ghost/queue';
import { verifyWebhook } from '@ghost/signing';
import { describe, expect, test } from 'vitest';

import { gate } from '../../../test/support/gate.js';
import { holdRow } from '../../../test/support/hold-row.js';
import { type Delivery, deliveryProcesses } from '../../../test/support/delivery-processes.js';
import { SEED_SECRET } from '../../../test/support/delivery-seed.js';
import { startMailCatcher } from '../../../test/support/mail-catcher.js';
import { waitUntil } from '../../../test/support/wait-until.js';
import { VERSION } from './version.js';

const ran = deliveryProcesses();

const listenerProblems = (delivery: Delivery) =>
  delivery.logged().filter(({ event }) => event === 'delivery.listener_problem');

async function told(): Promise<object[]> {
  const { rows } = await ran.seed.pool.query<{ payload: object }>(
    `SELECT payload FROM outbox_event WHERE type = 'hook.disabled' ORDER BY id`,
  );
  return rows.map(({ payload }) => payload);
}

describe('the process', () => {
  test('sends webhooks and mails, answers on its private port, and exits 0 when asked to', async () => {
    const target = await ran.receiver();
    const relay = await startMailCatcher();
    ran.cleanups.push(() => relay.stop());
    const delivery = await ran.startDelivery({ GHOST_SMTP_URL: relay.url });
    const [job] = await ran.seed.webhooks([await ran.seed.hook(target.url)]);
    await ran.seed.mails(['ada@one.example', 'bob@two.example']);
    const [request] = await target.waitForRequests(1);
    await relay.waitForMails(2);
    await ran.allDelivered();
    expect(request?.headers['x-ghost-delivery']).toBe(job);
    expect(() =>
      verifyWebhook({
        headers: request?.headers ?? {},
        body: request?.body ?? Buffer.alloc(0),
        secret: SEED_SECRET,
      }),
    ).not.toThrow();
    const at = (path: string, init?: RequestInit) =>
      fetch(`http://127.0.0.1:${delivery.port}${path}`, init);
    expect((await at('/healthz')).status).toBe(200);
    const ready = await at('/readyz');
    expect(await ready.json()).toMatchObject({ status: 'ok', checks: { listener: 'ok' } });
    expect(ready.status).toBe(200);
    expect(await (await at('/metrics')).text()).toMatch(
      /ghost_delivery_attempts_total\{kind="webhook",outcome="delivered",reason="none"\} 1\n/u,
    );
    expect((await at('/wake', { method: 'POST' })).status).toBe(202);
    expect((await at('/wake')).status).toBe(405);
    expect((await at('/')).status).toBe(404);
    expect(await delivery.stop()).toEqual({ code: 0, signal: null });
    expect(delivery.logged().filter(({ event }) => event === 'delivery.attempted')).toHaveLength(3);
    // Not one line with a secret, an address of a reader, or what was written.
    expect(delivery.lines().join('\n')).not.toMatch(/whsec_|ada@|wörld|\/\/127\.0\.0\.1:\d+\//u);
  });

  test('wakes by POST when nobody told its listener', async () => {
    const target = await ran.receiver();
    const delivery = await ran.startDelivery();
    const hook = await ran.seed.hook(target.url);
    await ran.seed.webhooks([hook]);
    await target.waitForRequests(1);
    await ran.allDelivered();
    // A job that no NOTIFY announced.
    await ran.seed.pool.query(
      `UPDATE delivery_job SET status = 'pending', finished_at = NULL, run_at = now()`,
    );
    await ran.seed.pool.query(`UPDATE delivery_lane SET next_at = now()`);
    const response = await fetch(`http://127.0.0.1:${delivery.port}/wake`, { method: 'POST' });
    expect(response.status).toBe(202);
    await target.waitForRequests(2);
  });

  test('killed between a hold and the mail about it, the next one to start tells of it, once', async () => {
    const hook = await ran.seed.hook((await ran.receiver(() => 410)).url);
    await ran.seed.webhooks([hook]);
    const first = await ran.startDelivery();
    await waitUntil(() => first.logged().some(({ event }) => event === 'delivery.attempted'), {
      what: 'the 410',
    });
    await first.kill9();
    const next = await ran.startDelivery();
    await waitUntil(async () => (await told()).length > 0, { what: 'the event' });
    expect(await told()).toMatchObject([
      { hook: { id: hook }, held: 'gone', status: 410, message: expect.stringContaining('410') },
    ]);
    await next.stop();
    await (await ran.startDelivery()).stop();
    expect(await told()).toHaveLength(1);
  });

  test('killed at any moment loses nothing: the job goes again with the same id and bytes', async () => {
    const target = await ran.receiver(() => 'hang');
    await ran.seed.webhooks([await ran.seed.hook(target.url)]);
    const first = await ran.startDelivery({ GHOST_LEASE_MS: '1000' });
    await target.waitForRequests(1);
    await first.kill9();
    target.setHandler(() => 200);
    await ran.startDelivery({ GHOST_LEASE_MS: '1000' });
    await target.waitForRequests(2);
    await ran.allDelivered();
    const [before, after] = target.requests();
    expect(after?.headers['x-ghost-delivery']).toBe(before?.headers['x-ghost-delivery']);
    expect(after?.body).toEqual(before?.body);
    expect(await ran.seed.attempts()).toMatchObject([
      { outcome: 'abandoned', number: null },
      { outcome: 'delivered', number: 1 },
    ]);
  });

  test('asked to stop while an endpoint hangs gives the job back and exits 0 within its grace', async () => {
    const target = await ran.receiver(() => 'hang');
    await ran.seed.webhooks([await ran.seed.hook(target.url)]);
    const delivery = await ran.startDelivery({ GHOST_SHUTDOWN_GRACE_MS: '2500' });
    await target.waitForRequests(1);
    const startedAt = performance.now();
    expect(await delivery.stop()).toEqual({ code: 0, signal: null });
    expect(performance.now() - startedAt).toBeLessThan(3_500);
    expect(await ran.seed.jobs()).toMatchObject([
      { status: 'pending', leased: false, attempts: 0, tries: 0 },
    ]);
  });

  test('frozen past its lease and thawed: same id again elsewhere, one result', async () => {
    const target = await ran.receiver(async () => {
      await new Promise((resolve) => setTimeout(resolve, 400));
      return 200;
    });
    await ran.seed.webhooks([await ran.seed.hook(target.url)]);
    const frozen = await ran.startDelivery({ GHOST_LEASE_MS: '1000' });
    await target.waitForRequests(1);
    frozen.child.kill('SIGSTOP');
    await ran.startDelivery({ GHOST_LEASE_MS: '1000' });
    await target.waitForRequests(2);
    await ran.allDelivered();
    frozen.child.kill('SIGCONT');
    await waitUntil(() => frozen.logged().some(({ event }) => event === 'delivery.attempted'), {
      what: 'the late result',
    });
    expect(new Set(target.requests().map(({ headers }) => headers['x-ghost-delivery'])).size).toBe(
      1,
    );
    const ended = (await ran.seed.attempts()).filter(({ outcome }) => outcome !== 'abandoned');
    expect(ended).toMatchObject([{ outcome: 'delivered', number: 1 }]);
    expect(await ran.seed.jobs()).toMatchObject([{ status: 'delivered', tries: 1 }]);
  });

  test('survives a server that cuts its connections', async () => {
    const target = await ran.receiver();
    const delivery = await ran.startDelivery();
    const hook = await ran.seed.hook(target.url);
    await ran.seed.webhooks([hook]);
    await ran.allDelivered();
    await ran.seed.pool.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'ghost delivery%'`,
    );
    await ran.seed.webhooks([hook]);
    await target.waitForRequests(2, 15_000);
    await ran.allDelivered();
    expect(await delivery.stop()).toEqual({ code: 0, signal: null });
  });

  test('looks for work by itself while it cannot listen', async () => {
    const target = await ran.receiver();
    const delivery = await ran.startDelivery({
      GHOST_LISTEN_DATABASE_URL: 'postgres://ghost:x@127.0.0.1:1/ghost',
    });
    // The look at the start is over, and nothing will tell it of this job.
    await waitUntil(async () => (await ran.claimsSeen()) > 0, { what: 'the first look' });
    await ran.seed.webhooks([await ran.seed.hook(target.url)]);
    await target.waitForRequests(1, 10_000);
    await ran.allDelivered();
    expect(listenerProblems(delivery).length).toBeGreaterThan(1);
  });

  test('behind a pooler too, a lane that somebody holds holds up no other', async () => {
    const answer = gate();
    const target = await ran.receiver();
    const late = await ran.receiver(() => answer.opened.then(() => 200));
    const direct = new URL(ran.database.url);
    direct.searchParams.set('application_name', 'direct');
    await ran.startDelivery({ GHOST_LISTEN_DATABASE_URL: direct.href });
    const hook = await ran.seed.hook(late.url);
    await ran.seed.webhooks([hook]);
    await late.waitForRequests(1);
    const release = await holdRow(ran.seed.pool, 'delivery_lane', 'lane', hookLane(hook));
    ran.cleanups.push(release);
    answer.open();
    const [other] = await ran.seed.webhooks([await ran.seed.hook(target.url)]);
    const delivered = async () =>
      (await ran.seed.jobs()).some(({ id, status }) => id === other && status === 'delivered');
    await waitUntil(delivered, { what: 'what goes to the other lane', timeoutMs: 5_000 });
    await release();
    await ran.allDelivered();
  });

  test('a listener that hears nothing any more is found by its heartbeat, and its jobs are sent', async () => {
    const target = await ran.receiver();
    const { delivery, deafen } = await ran.startBehindProxy({ GHOST_HEARTBEAT_MS: '500' });
    deafen();
    await ran.seed.webhooks([await ran.seed.hook(target.url)]);
    await target.waitForRequests(1, 5_000);
    await ran.allDelivered();
    expect(listenerProblems(delivery)).toMatchObject([{ msg: expect.stringContaining('at once') }]);
  });

  test('asked to wake, it proves that it still hears', async () => {
    const target = await ran.receiver();
    const { delivery, deafen } = await ran.startBehindProxy();
    deafen();
    // Heard a moment ago, it needs no proof; a second later it does.
    await waitUntil(
      async () => {
        await fetch(`http://127.0.0.1:${delivery.port}/wake`, { method: 'POST' });
        return listenerProblems(delivery).length > 0;
      },
      { what: 'the dead connection to be found', everyMs: 100 },
    );
    const isReady = async () => (await fetch(`http://127.0.0.1:${delivery.port}/readyz`)).ok;
    await waitUntil(isReady, { what: 'the new connection' });
    await ran.seed.webhooks([await ran.seed.hook(target.url)]);
    await target.waitForRequests(1, 2_000);
  });

  test('says its own version', () => {
    const manifest = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
    expect((JSON.parse(manifest) as { version: string }).version).toBe(VERSION);
  });
});
