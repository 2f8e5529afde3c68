import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';

import { verifyWebhook } from '@ghost/signing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import {
  createDeliverySeed,
  type DeliverySeed,
  SEED_KEYS,
  SEED_SECRET,
} from '../../../test/support/delivery-seed.js';
import { startMailCatcher } from '../../../test/support/mail-catcher.js';
import { type RunningProcess, startProcess } from '../../../test/support/processes.js';
import { startRawServer } from '../../../test/support/raw-server.js';
import { startTcpProxy } from '../../../test/support/tcp-proxy.js';
import { createTestDatabase, type TestDatabase } from '../../../test/support/test-database.js';
import { waitUntil } from '../../../test/support/wait-until.js';
import { type ReceiverHandler, startReceiver } from '../../../test/support/webhook-receiver.js';
import { relayPauseMs } from './rules/relay-pause.js';
import { VERSION } from './version.js';

const ENTRY = fileURLToPath(new URL('../dist/main.js', import.meta.url));

let database: TestDatabase;
let seed: DeliverySeed;
const cleanups: (() => unknown)[] = [];
beforeEach(async () => {
  database = await createTestDatabase();
  seed = await createDeliverySeed(database.url);
  cleanups.push(
    () => database.drop(),
    () => seed.close(),
  );
});
afterEach(async () => {
  for (const clean of cleanups.splice(0).toReversed()) await clean();
});

async function receiver(handler?: ReceiverHandler) {
  const started = await startReceiver(handler);
  cleanups.push(() => started.stop());
  return started;
}

const environment = (more: Record<string, string> = {}) => ({
  DATABASE_URL: database.url,
  GHOST_SECRET_KEYS: SEED_KEYS,
  GHOST_ALLOW_CIDRS: '127.0.0.0/8',
  GHOST_SMTP_TLS: 'off',
  PORT: '0',
  ...more,
});

interface Delivery extends RunningProcess {
  port: number;
  logged(): Record<string, unknown>[];
}

async function startDelivery(more?: Record<string, string>): Promise<Delivery> {
  const running = await startProcess({
    name: 'delivery',
    entry: ENTRY,
    env: environment(more),
    ready: /"delivery\.started"/u,
  });
  const logged = () =>
    running
      .lines()
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  const port = logged().find(({ event }) => event === 'delivery.started')?.['port'];
  return { ...running, port: Number(port), logged };
}

/** Starts a process that must not come up, and returns how it ended. */
async function failToStart(more: Record<string, string>) {
  const running = await startProcess({ name: 'delivery', entry: ENTRY, env: environment(more) });
  const { code } = await running.exited;
  return { code, text: running.lines().join('\n') };
}

const allDelivered = () =>
  waitUntil(
    async () => {
      const jobs = await seed.jobs();
      return jobs.length > 0 && jobs.every(({ status }) => status === 'delivered');
    },
    { what: 'all jobs to be delivered' },
  );

/** Connections of the process whose last statement is over: it has looked and found nothing. */
const claimsSeen = async () => {
  const { rows } = await seed.pool.query<{ seen: number }>(
    `SELECT count(*)::integer AS seen FROM pg_stat_activity
     WHERE application_name = 'ghost delivery' AND state = 'idle' AND query LIKE '%delivery_next_due%'`,
  );
  return rows[0]?.seen ?? 0;
};

const listenerProblems = (delivery: Delivery) =>
  delivery.logged().filter(({ event }) => event === 'delivery.listener_problem');

/** A process whose LISTEN connection can be made to carry nothing, with nobody told. */
async function startBehindProxy(more?: Record<string, string>) {
  const proxy = await startTcpProxy({ targetPort: Number(new URL(database.url).port) });
  cleanups.push(() => proxy.stop());
  const listenUrl = proxy.urlFor(database.url);
  const delivery = await startDelivery({ GHOST_LISTEN_DATABASE_URL: listenUrl, ...more });
  const deafen = () => {
    for (const connection of proxy.connections()) connection.blackHole();
  };
  return { delivery, deafen };
}

describe('the process', () => {
  test('sends webhooks and mails, answers on its private port, and exits 0 when asked to', async () => {
    const target = await receiver();
    const relay = await startMailCatcher();
    cleanups.push(() => relay.stop());
    const delivery = await startDelivery({ GHOST_SMTP_URL: relay.url });
    const [job] = await seed.webhooks([await seed.hook(target.url)]);
    await seed.mails(['ada@one.example', 'bob@two.example']);
    const [request] = await target.waitForRequests(1);
    await relay.waitForMails(2);
    await allDelivered();
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
    const target = await receiver();
    const delivery = await startDelivery();
    const hook = await seed.hook(target.url);
    await seed.webhooks([hook]);
    await target.waitForRequests(1);
    await allDelivered();
    // A job that no NOTIFY announced.
    await seed.pool.query(
      `UPDATE delivery_job SET status = 'pending', finished_at = NULL, run_at = now()`,
    );
    await seed.pool.query(`UPDATE delivery_lane SET next_at = now()`);
    const response = await fetch(`http://127.0.0.1:${delivery.port}/wake`, { method: 'POST' });
    expect(response.status).toBe(202);
    await target.waitForRequests(2);
  });

  test('killed at any moment loses nothing: the job goes again with the same id and bytes', async () => {
    const target = await receiver(() => 'hang');
    await seed.webhooks([await seed.hook(target.url)]);
    const first = await startDelivery({ GHOST_LEASE_MS: '1000' });
    await target.waitForRequests(1);
    await first.kill9();
    target.setHandler(() => 200);
    await startDelivery({ GHOST_LEASE_MS: '1000' });
    await target.waitForRequests(2);
    await allDelivered();
    const [before, after] = target.requests();
    expect(after?.headers['x-ghost-delivery']).toBe(before?.headers['x-ghost-delivery']);
    expect(after?.body).toEqual(before?.body);
    expect(await seed.attempts()).toMatchObject([
      { outcome: 'abandoned', number: null },
      { outcome: 'delivered', number: 1 },
    ]);
  });

  test('asked to stop while an endpoint hangs gives the job back and exits 0 within its grace', async () => {
    const target = await receiver(() => 'hang');
    await seed.webhooks([await seed.hook(target.url)]);
    const delivery = await startDelivery({ GHOST_SHUTDOWN_GRACE_MS: '2500' });
    await target.waitForRequests(1);
    const startedAt = performance.now();
    expect(await delivery.stop()).toEqual({ code: 0, signal: null });
    expect(performance.now() - startedAt).toBeLessThan(3_500);
    expect(await seed.jobs()).toMatchObject([
      { status: 'pending', leased: false, attempts: 0, tries: 0 },
    ]);
  });

  test('frozen past its lease and thawed: same id again elsewhere, one result', async () => {
    const target = await receiver(async () => {
      await new Promise((resolve) => setTimeout(resolve, 400));
      return 200;
    });
    await seed.webhooks([await seed.hook(target.url)]);
    const frozen = await startDelivery({ GHOST_LEASE_MS: '1000' });
    await target.waitForRequests(1);
    frozen.child.kill('SIGSTOP');
    await startDelivery({ GHOST_LEASE_MS: '1000' });
    await target.waitForRequests(2);
    await allDelivered();
    frozen.child.kill('SIGCONT');
    await waitUntil(() => frozen.logged().some(({ event }) => event === 'delivery.attempted'), {
      what: 'the late result',
    });
    expect(new Set(target.requests().map(({ headers }) => headers['x-ghost-delivery'])).size).toBe(
      1,
    );
    const ended = (await seed.attempts()).filter(({ outcome }) => outcome !== 'abandoned');
    expect(ended).toMatchObject([{ outcome: 'delivered', number: 1 }]);
    expect(await seed.jobs()).toMatchObject([{ status: 'delivered', tries: 1 }]);
  });

  test('survives a server that cuts its connections', async () => {
    const target = await receiver();
    const delivery = await startDelivery();
    const hook = await seed.hook(target.url);
    await seed.webhooks([hook]);
    await allDelivered();
    await seed.pool.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'ghost delivery%'`,
    );
    await seed.webhooks([hook]);
    await target.waitForRequests(2, 15_000);
    await allDelivered();
    expect(await delivery.stop()).toEqual({ code: 0, signal: null });
  });

  test('looks for work by itself while it cannot listen', async () => {
    const target = await receiver();
    const delivery = await startDelivery({
      GHOST_LISTEN_DATABASE_URL: 'postgres://ghost:x@127.0.0.1:1/ghost',
    });
    // The look at the start is over, and nothing will tell it of this job.
    await waitUntil(async () => (await claimsSeen()) > 0, { what: 'the first look' });
    await seed.webhooks([await seed.hook(target.url)]);
    await target.waitForRequests(1, 10_000);
    await allDelivered();
    expect(listenerProblems(delivery).length).toBeGreaterThan(1);
  });

  test('a listener that hears nothing any more is found by its heartbeat, and its jobs are sent', async () => {
    const target = await receiver();
    const { delivery, deafen } = await startBehindProxy({ GHOST_HEARTBEAT_MS: '500' });
    deafen();
    await seed.webhooks([await seed.hook(target.url)]);
    await target.waitForRequests(1, 5_000);
    await allDelivered();
    expect(listenerProblems(delivery)).toMatchObject([{ msg: expect.stringContaining('at once') }]);
  });

  test('asked to wake, it proves that it still hears', async () => {
    const target = await receiver();
    const { delivery, deafen } = await startBehindProxy();
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
    await seed.webhooks([await seed.hook(target.url)]);
    await target.waitForRequests(1, 2_000);
  });

  test('says its own version', () => {
    const manifest = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
    expect((JSON.parse(manifest) as { version: string }).version).toBe(VERSION);
  });
});

describe('a start that cannot work says what to do', () => {
  test('several bad settings: all in one message, 78', async () => {
    const { code, text } = await failToStart({
      GHOST_LEESE_MS: '5',
      GHOST_CONCURRENCY: 'many',
      GHOST_ALLOW_CIDRS: '10.0.0.0/99',
    });
    expect(code).toBe(78);
    for (const name of ['GHOST_LEESE_MS', 'GHOST_CONCURRENCY', 'GHOST_ALLOW_CIDRS']) {
      expect(text).toContain(name);
    }
  });

  test('no database there: 69', async () => {
    const { code, text } = await failToStart({
      DATABASE_URL: 'postgres://ghost:hidden@127.0.0.1:1/ghost',
    });
    expect(code).toBe(69);
    expect(text).toMatch(/Start Postgres, or correct DATABASE_URL/u);
    expect(text).not.toContain('hidden');
  });

  test('a database without this version’s tables: 78, and what to run', async () => {
    await seed.pool.query('DROP SCHEMA drizzle CASCADE');
    const { code, text } = await failToStart({});
    expect(code).toBe(78);
    expect(text).toContain('npx ghost migrate');
  });

  test('a key that opens none of the secrets: 78', async () => {
    await seed.hook('http://127.0.0.1:1/');
    const other = `other:${Buffer.from(Array.from({ length: 32 }, (_, index) => index)).toString('base64')}`;
    const { code, text } = await failToStart({ GHOST_SECRET_KEYS: other });
    expect(code).toBe(78);
    expect(text).toContain('GHOST_SECRET_KEYS');
  });

  test('a port that is taken: 69', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    cleanups.push(() => server.close());
    const { port } = server.address() as { port: number };
    const { code, text } = await failToStart({ PORT: String(port) });
    expect(code).toBe(69);
    expect(text).toMatch(/Cannot listen on 127\.0\.0\.1:\d+ \(EADDRINUSE\)/u);
  });

  test('a relay that is out of reach, or offers no TLS where it is required: 69', async () => {
    const closed = await startRawServer(() => undefined);
    await closed.stop();
    const gone = await failToStart({ GHOST_SMTP_URL: `smtp://127.0.0.1:${closed.port}` });
    expect(gone.code).toBe(69);
    expect(gone.text).toContain('GHOST_SMTP_URL');
    const relay = await startMailCatcher();
    cleanups.push(() => relay.stop());
    const plain = await failToStart({ GHOST_SMTP_URL: relay.url, GHOST_SMTP_TLS: 'required' });
    expect(plain.code).toBe(69);
    expect(plain.text).toContain('GHOST_SMTP_TLS=off');
  }, 30_000);

  test('a mail whose address is its reader’s no longer is cancelled, and the relay gets none', async () => {
    const relay = await startMailCatcher();
    cleanups.push(() => relay.stop());
    const [gone, kept] = await seed.mails(['gone@one.example', 'kept@one.example']);
    await seed.pool.query(`DELETE FROM email_address WHERE address = 'gone@one.example'`);
    await startDelivery({ GHOST_SMTP_URL: relay.url });
    const ended = async () => (await seed.jobs()).filter(({ status }) => status !== 'pending');
    await waitUntil(async () => (await ended()).length === 2, { what: 'both mails to end' });
    expect(await ended()).toMatchObject([
      { id: gone, status: 'cancelled', attempts: 0, tries: 0, lastError: 'address_removed' },
      { id: kept, status: 'delivered' },
    ]);
    expect(relay.mails().map(({ envelope }) => envelope.to)).toEqual([['kept@one.example']]);
  });

  test('a relay that answers and refuses stops nobody: mails wait, webhooks go out', async () => {
    const relay = await startMailCatcher({ auth: { user: 'ghost', pass: 'right' } });
    cleanups.push(() => relay.stop());
    const target = await receiver();
    const delivery = await startDelivery({
      GHOST_SMTP_URL: relay.url.replace('smtp://', 'smtp://ghost:wrong@'),
    });
    await seed.mails(['ada@one.example']);
    await seed.webhooks([await seed.hook(target.url)]);
    await target.waitForRequests(1);
    expect(delivery.logged()).toContainEqual(
      expect.objectContaining({ event: 'delivery.relay_refuses', code: 535 }),
    );
    expect(delivery.lines().join('\n')).not.toContain('wrong');
    const mails = (await seed.jobs()).filter(({ lastError }) => lastError === null);
    expect(mails).toContainEqual(expect.objectContaining({ status: 'pending', attempts: 0 }));
  });

  test('a relay that refuses while its rest cannot be stored stops nobody either', async () => {
    const relay = await startMailCatcher({ auth: { user: 'ghost', pass: 'right' } });
    cleanups.push(() => relay.stop());
    const holder = await seed.pool.connect();
    cleanups.push(() => holder.release());
    await holder.query('BEGIN; LOCK TABLE delivery_relay IN ACCESS EXCLUSIVE MODE');
    const starting = startDelivery({
      GHOST_SMTP_URL: relay.url.replace('smtp://', 'smtp://ghost:wrong@'),
    });
    // Nothing tells of the end of a rest that is not stored yet.
    await holder.query('SELECT pg_sleep($1)', [(relayPauseMs(1) + 1_000) / 1_000]);
    await holder.query('COMMIT');
    expect(await (await starting).stop()).toEqual({ code: 0, signal: null });
  }, 30_000);

  test('a relay that faults rests, and is tried again by itself when it has rested', async () => {
    let faults = 0;
    const relay = await startMailCatcher({
      onMailFrom: () => {
        faults += 1;
        return faults === 1 ? { code: 421, text: '4.3.2 Shutting down' } : undefined;
      },
    });
    cleanups.push(() => relay.stop());
    const delivery = await startDelivery({ GHOST_SMTP_URL: relay.url });
    await seed.mails(['ada@one.example']);
    await relay.waitForMails(1, 15_000);
    await allDelivered();
    expect(delivery.logged()).toContainEqual(
      expect.objectContaining({ event: 'delivery.attempted', outcome: 'released' }),
    );
    expect(await seed.jobs()).toMatchObject([{ tries: 1 }]);
  }, 30_000);

  test('no relay at all is said, and mails wait', async () => {
    const target = await receiver();
    const delivery = await startDelivery();
    await seed.mails(['ada@one.example']);
    await seed.webhooks([await seed.hook(target.url)]);
    await target.waitForRequests(1);
    expect(delivery.logged()).toContainEqual(
      expect.objectContaining({ event: 'delivery.mails_held' }),
    );
    expect(await delivery.stop()).toEqual({ code: 0, signal: null });
    expect(await seed.jobs()).toContainEqual(
      expect.objectContaining({ status: 'pending', attempts: 0, leaseNo: 0 }),
    );
  });
});
