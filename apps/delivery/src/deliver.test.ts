import type { JobKind } from '@ghost/contract';
import { createPool, DELIVERY_CHANNEL, Listener, type Pool } from '@ghost/db';
import { createPostgresQueue, type Queue, type Settlement, sqlOfPool } from '@ghost/queue';
import { parseAddressPolicy } from '@ghost/policy';
import { pino } from 'pino';
import { Client } from 'undici';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import {
  createDeliverySeed,
  type DeliverySeed,
  keyRing,
} from '../../../test/support/delivery-seed.js';
import { startTcpProxy } from '../../../test/support/tcp-proxy.js';
import { createTestDatabase, type TestDatabase } from '../../../test/support/test-database.js';
import { waitUntil } from '../../../test/support/wait-until.js';
import { type ReceiverHandler, startReceiver } from '../../../test/support/webhook-receiver.js';
import { deliver, type DeliveryParts } from './deliver.js';
import { KeptConnections } from './net/kept-connections.js';
import { createResolver } from './net/resolver.js';
import { DatabaseState } from './pump/database-state.js';
import { InHand } from './pump/in-hand.js';
import { LeaseKeeper } from './pump/lease-keeper.js';
import { Pump } from './pump/pump.js';
import { Settler } from './pump/settler.js';
import { createHookDirectory } from './send/hook-directory.js';
import { prepareWebhooks } from './send/prepare-webhooks.js';
import { createWebhookSender } from './send/webhook.js';
import { shutDown } from './shutdown.js';

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

interface WorkerSettings {
  url?: string;
  leaseMs?: number;
  laneSlots?: number;
  concurrency?: number;
  deadlineMs?: number;
  claimWithinMs?: number;
  maxAttempts?: number;
  retryBaseMs?: number;
  /** Stands between the worker and the queue. */
  around?: (queue: Queue) => Partial<Queue>;
}

interface Worker {
  inHand: InHand;
  pool: Pool;
  /** Statements that went to the database. */
  statements: () => number;
  lines: Record<string, unknown>[];
  stop: (graceMs?: number) => Promise<void>;
}

/** The pieces of main.ts around a database of the test's own. */
async function startWorker(settings: WorkerSettings = {}): Promise<Worker> {
  const { leaseMs = 30_000, concurrency = 50 } = settings;
  const url = settings.url ?? database.url;
  const lines: Record<string, unknown>[] = [];
  const log = pino(
    { level: 'debug' },
    { write: (line: string) => void lines.push(JSON.parse(line)) },
  );
  const pool = createPool({
    connectionString: url,
    name: 'worker',
    max: 5,
    onError: () => undefined,
  });
  let statements = 0;
  const sql = sqlOfPool(pool);
  const inner = createPostgresQueue({ pool, leaseMs, laneSlots: settings.laneSlots ?? 10 });
  const counted: Queue = {
    ...inner,
    claim: (capacity) => ((statements += 1), inner.claim(capacity)),
    nextDue: (known) => ((statements += 1), inner.nextDue(known)),
    settle: (settlements) => ((statements += 1), inner.settle(settlements)),
    extend: (leases) => ((statements += 1), inner.extend(leases)),
  };
  const queue: Queue = { ...counted, ...settings.around?.(counted) };
  const state = new DatabaseState(log, () => performance.now());
  const inHand = new InHand();
  const settler = new Settler({ queue, database: state, now: () => Date.now(), log });
  const leases = new LeaseKeeper({
    queue,
    inHand,
    leaseMs,
    monotonic: () => performance.now(),
    log,
  });
  const kept = new KeptConnections();
  const resolver = createResolver();
  const policy = parseAddressPolicy({ allowCidrs: '127.0.0.0/8' });
  if (!policy.ok) throw new Error('policy');
  const send = createWebhookSender({
    dialer: { resolver, policy: policy.policy },
    kept,
    loadClient: async () => Client,
    deadlineMs: settings.deadlineMs ?? 10_000,
    userAgent: 'Ghost-Delivery/test',
    now: () => Date.now(),
  });
  const parts: DeliveryParts = {
    inHand,
    settler,
    prepare: prepareWebhooks(createHookDirectory(sql, keyRing()), send),
    policy: {
      webhook: {
        maxAttempts: settings.maxAttempts ?? 16,
        baseMs: settings.retryBaseMs ?? 10_000,
        capMs: 60_000,
      },
    },
    onSettled: (pending) => pump.settled(pending),
    onAttempt: () => undefined,
    now: () => Date.now(),
    random: Math.random,
    log,
  };
  const kind: JobKind = 'webhook';
  const pump = new Pump({
    kind,
    version: 1,
    capacity: () => concurrency,
    ...(settings.claimWithinMs === undefined ? {} : { claimWithinMs: settings.claimWithinMs }),
    queue,
    inHand,
    database: state,
    writable: () => settler.writable(),
    deliver: (claim) => deliver(claim, parts),
    log,
  });
  const listener = new Listener({
    connectionString: url,
    channel: DELIVERY_CHANNEL,
    name: 'worker',
    heartbeatMs: 60_000,
    firstReconnectMs: 100,
    onWake: () => pump.wake(),
    onProblem: () => undefined,
  });
  pump.start();
  await listener.start();
  let stopped = false;
  const stop = async (graceMs = 2_000) => {
    if (stopped) return;
    stopped = true;
    const closers = [
      () => leases.stop(),
      () => kept.closeAll(),
      () => resolver.close(),
      () => listener.stop(),
      () => pool.end(),
    ];
    await shutDown({ pumps: [pump], inHand, settler, closers, log }, graceMs);
  };
  cleanups.push(() => stop(0));
  return { inHand, pool, statements: () => statements, lines, stop };
}

async function receiver(handler?: ReceiverHandler) {
  const started = await startReceiver(handler);
  cleanups.push(() => started.stop());
  return started;
}
const statuses = async () => (await seed.jobs()).map((job) => job.status);
const allDelivered = () =>
  waitUntil(async () => (await statuses()).every((status) => status === 'delivered'), {
    what: 'all jobs to be delivered',
  });

describe('the flow', () => {
  test('delivers what is there at the start and what comes later, each once', async () => {
    const target = await receiver();
    const hooks = await Promise.all(
      Array.from({ length: 5 }, (_, index) => seed.hook(`${target.url}${index}`)),
    );
    const first = await seed.webhooks(hooks);
    const worker = await startWorker();
    await target.waitForRequests(5);
    const later = await seed.webhooks(
      Array.from({ length: 60 }, (_, index) => hooks[index % 5] ?? 0),
    );
    await target.waitForRequests(65);
    await allDelivered();
    const ids = target.requests().map(({ headers }) => headers['x-ghost-delivery']);
    expect(ids).toHaveLength(65);
    expect(new Set(ids)).toEqual(new Set([...first, ...later]));
    const attempts = await seed.attempts();
    expect(attempts).toHaveLength(65);
    expect(new Set(attempts.map(({ outcome }) => outcome))).toEqual(new Set(['delivered']));
    expect(worker.inHand.size).toBe(0);
  });

  test('tries again by the back-off, with the same id and bytes, and is dead after the last try', async () => {
    const target = await receiver(() => ({ status: 500, body: 'nope' }));
    await seed.webhooks([await seed.hook(target.url)]);
    await startWorker({ maxAttempts: 3, retryBaseMs: 20 });
    const [job] = await waitUntil(
      async () => {
        const jobs = await seed.jobs();
        return jobs[0]?.status === 'dead' ? jobs : undefined;
      },
      { what: 'the job to be dead' },
    );
    expect(job).toMatchObject({ attempts: 3, tries: 3, lastError: 'attempts_exhausted' });
    const requests = target.requests();
    expect(requests.map(({ headers }) => headers['x-ghost-attempt'])).toEqual(['1', '2', '3']);
    expect(new Set(requests.map(({ headers }) => headers['x-ghost-delivery'])).size).toBe(1);
    expect(new Set(requests.map(({ body }) => body.toString('hex'))).size).toBe(1);
    expect(await seed.attempts()).toMatchObject([
      { number: 1, outcome: 'retry', reason: 'http_5xx', status: 500, bodyExcerpt: 'nope' },
      { number: 2, outcome: 'retry' },
      { number: 3, outcome: 'dead', reason: 'attempts_exhausted' },
    ]);
  });

  test('a 410 holds the lane: charged, pending, and nothing more is sent', async () => {
    const target = await receiver(() => 410);
    const hook = await seed.hook(target.url);
    await seed.webhooks([hook]);
    await startWorker();
    await waitUntil(async () => (await seed.attempts()).length === 1, { what: 'the attempt' });
    await seed.webhooks([hook]);
    const other = await receiver();
    await seed.webhooks([await seed.hook(other.url)]);
    await other.waitForRequests(1);
    expect(target.requests()).toHaveLength(1);
    expect(await seed.jobs()).toMatchObject([
      { status: 'pending', attempts: 1, lastError: 'gone' },
      { status: 'pending', attempts: 0 },
      {},
    ]);
  });

  test('a deleted or inactive hook cancels, an unreadable secret holds: never unsigned', async () => {
    const target = await receiver();
    const deleted = await seed.hook(target.url);
    const inactive = await seed.hook(target.url, { active: false });
    const unreadable = await seed.hook(target.url);
    const secretless = await seed.hook(target.url, { secrets: [] });
    await seed.pool.query(
      `UPDATE hook_secret SET ciphertext = 'v1.other.AAAAAAAAAAAAAAAA.AAAA.AAAAAAAAAAAAAAAAAAAAAA' WHERE hook_id = $1`,
      [unreadable],
    );
    await seed.webhooks([deleted, inactive, unreadable, secretless]);
    await seed.pool.query('DELETE FROM hook WHERE id = $1', [deleted]);
    await startWorker();
    await waitUntil(async () => (await seed.attempts()).length === 4, { what: 'four outcomes' });
    expect(await seed.jobs()).toMatchObject([
      { status: 'cancelled', lastError: 'hook_deleted', attempts: 0 },
      { status: 'cancelled', lastError: 'hook_inactive', attempts: 0 },
      { status: 'pending', lastError: 'secret_unreadable', attempts: 0 },
      { status: 'pending', lastError: 'secret_unreadable', attempts: 0 },
    ]);
    expect(target.requests()).toHaveLength(0);
  });

  test('a rotated secret or mended URL serves jobs that wait already', async () => {
    const target = await receiver();
    const hook = await seed.hook('http://127.0.0.1:1/');
    await seed.webhooks([hook]);
    await seed.pool.query('UPDATE hook SET url = $1 WHERE id = $2', [target.url, hook]);
    await startWorker();
    await target.waitForRequests(1);
    await allDelivered();
  });

  test('never more of a lane at once than its slots', async () => {
    let open = 0;
    let most = 0;
    const target = await receiver(async () => {
      open += 1;
      most = Math.max(most, open);
      await new Promise((resolve) => setTimeout(resolve, 20));
      open -= 1;
      return 200;
    });
    const hook = await seed.hook(target.url);
    await seed.webhooks(Array.from({ length: 40 }, () => hook));
    await startWorker({ laneSlots: 4 });
    await target.waitForRequests(40);
    await allDelivered();
    expect(most).toBe(4);
  });

  test('a hung endpoint holds its own slots and no others', async () => {
    const hung = await receiver(() => 'hang');
    const quick = await receiver();
    const slow = await seed.hook(hung.url);
    await seed.webhooks(Array.from({ length: 200 }, () => slow));
    await startWorker({ concurrency: 20, laneSlots: 5, deadlineMs: 5_000 });
    await hung.waitForRequests(5);
    const fine = await seed.hook(quick.url);
    const startedAt = performance.now();
    await seed.webhooks([fine]);
    await quick.waitForRequests(1);
    expect(performance.now() - startedAt).toBeLessThan(1_000);
    expect(hung.requests()).toHaveLength(5);
  });
});

describe('jobs that cannot be read', () => {
  const dead = async () => (await statuses()).filter((status) => status === 'dead').length;

  test('are dead at once and hold up nobody of their lane', async () => {
    const target = await receiver();
    const hook = await seed.hook(target.url);
    const bad = await seed.webhooks(Array.from({ length: 10 }, () => hook));
    await seed.pool.query(`UPDATE delivery_job SET own = '{}' WHERE id = ANY($1)`, [bad]);
    const [fine] = await seed.webhooks([hook]);
    await seed.pool.query(`UPDATE delivery_lane SET next_at = 'infinity'`);
    let claimed = false;
    const worker = await startWorker({
      around: (queue) => ({
        claim: async (capacity) => {
          const claim = await queue.claim(capacity);
          claimed ||= claim.unreadable.length > 0;
          return claim;
        },
        // Asked before the outcomes are written, answered after: it must not be the last word.
        nextDue: async (known) => {
          const asked = await queue.nextDue(known);
          if (claimed) await waitUntil(async () => (await dead()) === 10, { what: 'ten dead' });
          return asked;
        },
      }),
    });
    await waitUntil(() => worker.statements() >= 3, { what: 'the looks of the start' });
    // One wake for all; the leases of the bad ones would end in 30 s.
    await seed.pool.query(`UPDATE delivery_lane SET next_at = now()`);
    await seed.pool.query(`SELECT pg_notify('ghost_delivery', '')`);
    const [request] = await target.waitForRequests(1, 5_000);
    expect(request?.headers['x-ghost-delivery']).toBe(fine);
  });
});

describe('with nothing to do', () => {
  test('asks the database nothing', async () => {
    const target = await receiver();
    const worker = await startWorker({ leaseMs: 1_000 });
    await seed.webhooks([await seed.hook(target.url)]);
    await allDelivered();
    // One look when the lease that was given would have ended; then nothing at all.
    let last = -1;
    await waitUntil(
      () => {
        const same = worker.statements() === last;
        last = worker.statements();
        return same;
      },
      { what: 'quiet', everyMs: 1_500 },
    );
    await seed.webhooks([await seed.hook(target.url)]);
    await target.waitForRequests(2);
    expect(worker.statements()).toBeGreaterThan(last);
  });

  test('a job for later is sent on time, without polling', async () => {
    const target = await receiver();
    const worker = await startWorker();
    const [id] = await seed.webhooks([await seed.hook(target.url)]);
    await allDelivered();
    await seed.pool.query(
      `UPDATE delivery_job SET status = 'pending', finished_at = NULL, run_at = now() + interval '700 milliseconds' WHERE id = $1`,
      [id],
    );
    await seed.pool.query(`UPDATE delivery_lane SET next_at = now() + interval '700 milliseconds'`);
    await seed.pool.query(`SELECT pg_notify('ghost_delivery', '')`);
    const before = worker.statements();
    const startedAt = performance.now();
    await target.waitForRequests(2);
    expect(performance.now() - startedAt).toBeGreaterThan(500);
    expect(performance.now() - startedAt).toBeLessThan(2_000);
    expect(worker.statements() - before).toBeLessThan(10);
  });
});

describe('a lease', () => {
  test('is extended while its worker lives: a slow answer is one POST', async () => {
    const target = await receiver(async () => {
      await new Promise((resolve) => setTimeout(resolve, 2_500));
      return 200;
    });
    await seed.webhooks([await seed.hook(target.url)]);
    await startWorker({ leaseMs: 1_000 });
    await startWorker({ leaseMs: 1_000 });
    await allDelivered();
    expect(target.requests()).toHaveLength(1);
    expect((await seed.jobs())[0]).toMatchObject({ leaseNo: 1, attempts: 1 });
  });

  test('that is lost breaks the attempt off, and settles nothing', async () => {
    const target = await receiver(() => 'hang');
    await seed.webhooks([await seed.hook(target.url)]);
    const leaseMs = 3_000;
    const worker = await startWorker({ leaseMs });
    await target.waitForRequests(1);
    const startedAt = performance.now();
    // Somebody cancelled the job: its fence moved on.
    await seed.pool.query(
      `UPDATE delivery_job SET status = 'cancelled', finished_at = now(), lease_until = NULL, lease_no = lease_no + 1`,
    );
    await waitUntil(() => worker.inHand.size === 0, { what: 'the attempt to end' });
    // The next extension told, long before the lease itself would have ended.
    expect(performance.now() - startedAt).toBeLessThan(leaseMs * 0.8);
    expect(worker.lines).toContainEqual(
      expect.objectContaining({
        event: 'delivery.attempted',
        outcome: 'released',
        reason: 'lease_lost',
      }),
    );
    expect(await seed.attempts()).toHaveLength(0);
    expect((await seed.jobs())[0]).toMatchObject({ status: 'cancelled', leaseNo: 2 });
  });

  test('that cannot be extended ends with the attempt, before anyone else may claim', async () => {
    const target = await receiver(() => 'hang');
    await seed.webhooks([await seed.hook(target.url)]);
    const worker = await startWorker({
      leaseMs: 1_000,
      around: () => ({ extend: () => Promise.reject(new Error('no')) }),
    });
    await target.waitForRequests(1);
    const startedAt = performance.now();
    await waitUntil(() => worker.lines.some(({ reason }) => reason === 'lease_lost'), {
      what: 'the attempt to be broken off',
    });
    expect(performance.now() - startedAt).toBeLessThan(1_500);
  });

  test('a late result of a worker that lost its lease is a logged no-op', async () => {
    let answer: (() => void) | undefined;
    const target = await receiver(async () => {
      await new Promise<void>((resolve) => {
        answer = resolve;
      });
      return 200;
    });
    await seed.webhooks([await seed.hook(target.url)]);
    const worker = await startWorker();
    await target.waitForRequests(1);
    await seed.pool.query(`UPDATE delivery_job SET lease_no = lease_no + 1`);
    answer?.();
    await waitUntil(() => worker.lines.some((line) => line['fenced'] === true), {
      what: 'the no-op to be logged',
    });
    expect(await seed.attempts()).toHaveLength(0);
    expect((await seed.jobs())[0]).toMatchObject({ status: 'pending', attempts: 0 });
  });
});

describe('a claim that took long', () => {
  test('whose lease has ended is given back, not sent', async () => {
    const target = await receiver();
    await seed.webhooks([await seed.hook(target.url)]);
    let claims = 0;
    const sentBefore: number[] = [];
    const worker = await startWorker({
      leaseMs: 1_000,
      around: (queue) => ({
        claim: async (capacity) => {
          const claim = await queue.claim(capacity);
          claims += 1;
          sentBefore.push(target.requests().length);
          if (claims > 1 || claim.jobs.length === 0) return claim;
          // Its answer took until the end of the lease.
          const jobs = claim.jobs.map((job) => ({ ...job, leaseEndsAt: performance.now() + 20 }));
          return { ...claim, jobs };
        },
      }),
    });
    await allDelivered();
    expect(target.requests()).toHaveLength(1);
    expect(sentBefore.slice(0, 2)).toEqual([0, 0]);
    expect(worker.lines).toContainEqual(
      expect.objectContaining({
        event: 'delivery.attempted',
        outcome: 'released',
        reason: 'lease_too_short',
      }),
    );
    // Given back, not left to run out: nothing was abandoned.
    expect((await seed.attempts()).map(({ outcome }) => outcome)).toEqual(['delivered']);
  });

  test('whose lease is nearly over is extended before it ends', async () => {
    const target = await receiver(async () => {
      await new Promise((resolve) => setTimeout(resolve, 900));
      return 200;
    });
    await seed.webhooks([await seed.hook(target.url)]);
    const leaseMs = 1_500;
    const worker = await startWorker({
      leaseMs,
      around: (queue) => ({
        claim: async (capacity) => {
          const claim = await queue.claim(capacity);
          // Less is left than the third after which a whole lease is extended.
          const leaseEndsAt = performance.now() + leaseMs * 0.3;
          return { ...claim, jobs: claim.jobs.map((job) => ({ ...job, leaseEndsAt })) };
        },
      }),
    });
    await allDelivered();
    expect(target.requests()).toHaveLength(1);
    expect(worker.lines.filter(({ event }) => event === 'delivery.attempted')).toMatchObject([
      { outcome: 'delivered' },
    ]);
  });

  test('is over within its time; what it brings later is given back', async () => {
    const target = await receiver();
    let claims = 0;
    let comeBack = (): void => undefined;
    const worker = await startWorker({
      claimWithinMs: 100,
      around: (queue) => ({
        claim: async (capacity) => {
          const claim = await queue.claim(capacity);
          if (claim.jobs.length === 0) return claim;
          claims += 1;
          if (claims > 1) return claim;
          await new Promise<void>((resolve) => {
            comeBack = resolve;
          });
          return claim;
        },
      }),
    });
    await seed.webhooks([await seed.hook(target.url)]);
    await waitUntil(() => worker.lines.some(({ event }) => event === 'database.down'), {
      what: 'the claim to be given up',
    });
    comeBack();
    await allDelivered();
    expect(target.requests()).toHaveLength(1);
    expect(worker.lines).toContainEqual(
      expect.objectContaining({ event: 'delivery.claim_late', released: 1 }),
    );
    expect((await seed.jobs())[0]).toMatchObject({ leaseNo: 2, tries: 1 });
  });

  test('after the grace period is not sent either', async () => {
    const target = await receiver();
    await seed.webhooks([await seed.hook(target.url)]);
    let comeBack = (): void => undefined;
    let claimed = false;
    let handedOver = (): void => undefined;
    const handOver = new Promise<void>((resolve) => {
      handedOver = resolve;
    });
    const worker = await startWorker({
      around: (queue) => ({
        claim: async (capacity) => {
          const claim = await queue.claim(capacity);
          if (claim.jobs.length === 0) return claim;
          claimed = true;
          await new Promise<void>((resolve) => {
            comeBack = resolve;
          });
          setImmediate(handedOver);
          return claim;
        },
      }),
    });
    await waitUntil(() => claimed, { what: 'the claim' });
    await worker.stop(100);
    comeBack();
    await handOver;
    await waitUntil(() => worker.inHand.size === 0, { what: 'nothing in hand' });
    expect(target.requests()).toHaveLength(0);
    expect(worker.lines.filter(({ event }) => event === 'delivery.attempted')).toMatchObject([
      { outcome: 'released', reason: 'shutdown' },
    ]);
  });

  test('within the time for writing down is given back', async () => {
    const target = await receiver();
    await seed.webhooks([await seed.hook(target.url)]);
    let claimed = false;
    const worker = await startWorker({
      around: (queue) => ({
        claim: async (capacity) => {
          const claim = await queue.claim(capacity);
          if (claim.jobs.length === 0) return claim;
          claimed = true;
          // No signal tells when a shutdown breaks off: it does at once where the grace is short.
          await new Promise((resolve) => setTimeout(resolve, 300));
          return claim;
        },
      }),
    });
    await waitUntil(() => claimed, { what: 'the claim' });
    await worker.stop(100);
    expect(target.requests()).toHaveLength(0);
    expect(await seed.jobs()).toMatchObject([{ status: 'pending', leased: false, tries: 0 }]);
  });
});

describe('the database', () => {
  test.each([
    ['25006', 'read-only'],
    ['XX000', 'of a pooler'],
    ['57014', 'of a statement that took too long'],
    ['ENOTCONN', 'nobody thought of'],
  ])('may answer %s (%s): the outcome is kept, and written later', async (code) => {
    const target = await receiver();
    let faults = 0;
    const worker = await startWorker({
      around: (queue) => ({
        settle: async (settlements) => {
          faults += 1;
          if (faults <= 3) throw Object.assign(new Error('not now'), { code });
          return queue.settle(settlements);
        },
      }),
    });
    await seed.webhooks([await seed.hook(target.url)]);
    await allDelivered();
    expect(target.requests()).toHaveLength(1);
    expect(worker.lines.filter(({ event }) => String(event).includes('settle_'))).toEqual([]);
  });

  test('may lose its answer to a settle: said again, the outcome counts once and is told', async () => {
    const target = await receiver(() => ({ status: 500 }));
    let first = true;
    const worker = await startWorker({
      around: (queue) => ({
        settle: async (settlements) => {
          const settled = await queue.settle(settlements);
          if (!first) return settled;
          first = false;
          throw Object.assign(new Error('cut'), { code: 'ECONNRESET' });
        },
      }),
    });
    await seed.webhooks([await seed.hook(target.url)]);
    const [line] = await waitUntil(
      () => {
        const lines = worker.lines.filter(({ event }) => event === 'delivery.attempted');
        return lines.length > 0 ? lines : undefined;
      },
      { what: 'the attempt to be told' },
    );
    expect(line).toMatchObject({ outcome: 'retry', reason: 'http_5xx' });
    expect(line).not.toHaveProperty('fenced');
    expect(await seed.attempts()).toMatchObject([{ number: 1, outcome: 'retry' }]);
    expect(await seed.jobs()).toMatchObject([{ status: 'pending', attempts: 1, tries: 1 }]);
    expect(target.requests()).toHaveLength(1);
  });

  test('may be away for a while: outcomes are kept, nothing is sent twice', async () => {
    let letAnswer = (): void => undefined;
    const mayAnswer = new Promise<void>((resolve) => {
      letAnswer = resolve;
    });
    const target = await receiver(async () => {
      await mayAnswer;
      return 200;
    });
    const hook = await seed.hook(target.url);
    const proxy = await startTcpProxy({ targetPort: Number(new URL(database.url).port) });
    cleanups.push(() => proxy.stop());
    await seed.webhooks(Array.from({ length: 8 }, () => hook));
    let settles = 0;
    const worker = await startWorker({
      url: proxy.urlFor(database.url),
      around: (queue) => ({
        settle: (settlements) => {
          settles += 1;
          return queue.settle(settlements);
        },
      }),
    });
    await target.waitForRequests(8);
    await proxy.cut();
    letAnswer();
    await waitUntil(() => settles > 2, { what: 'the outcomes to be tried again' });
    expect(worker.inHand.size).toBe(8);
    await proxy.resume();
    await allDelivered();
    expect(target.requests()).toHaveLength(8);
    expect(worker.lines.filter(({ event }) => event === 'database.down')).toHaveLength(1);
    expect(worker.lines.some(({ event }) => event === 'database.back')).toBe(true);
    // And it goes on.
    await seed.webhooks([hook]);
    await target.waitForRequests(9);
  });

  test('refuses one outcome: the others are written, that one without its texts', async () => {
    const target = await receiver(({ headers }) => ({
      status: 200,
      body: String(headers['x-ghost-hook-id']),
    }));
    const hooks = await Promise.all(Array.from({ length: 6 }, () => seed.hook(target.url)));
    const bad = String(hooks[3]);
    const isBad = (one: Settlement) => one.attempt?.bodyExcerpt === bad;
    await seed.webhooks(hooks);
    const worker = await startWorker({
      around: (queue) => ({
        settle: async (settlements) => {
          if (settlements.some(isBad)) {
            // What Postgres would say of a text that it cannot hold; the statement fails as a whole.
            await seed.pool.query(`SELECT E'\\xff'::text`).catch(() => undefined);
            throw Object.assign(new Error('invalid byte sequence'), { code: '22021' });
          }
          return queue.settle(settlements);
        },
      }),
    });
    await allDelivered();
    expect(target.requests()).toHaveLength(6);
    const excerpts = (await seed.attempts()).map(({ bodyExcerpt }) => bodyExcerpt);
    expect(excerpts.filter((excerpt) => excerpt === null)).toHaveLength(1);
    expect(worker.lines).toContainEqual(
      expect.objectContaining({ event: 'delivery.settle_failed' }),
    );
  });
});

describe('the end', () => {
  test('finishes what is in flight, gives back the rest, claims nothing more', async () => {
    const target = await receiver(async ({ url }) => {
      if (url === '/hang') return 'hang';
      await new Promise((resolve) => setTimeout(resolve, 100));
      return 200;
    });
    const [fine, hung] = [
      await seed.hook(`${target.url}fine`),
      await seed.hook(`${target.url}hang`),
    ];
    await seed.webhooks([fine, hung]);
    const worker = await startWorker();
    await target.waitForRequests(2);
    const startedAt = performance.now();
    const stopping = worker.stop(2_500);
    await seed.webhooks([fine]);
    await stopping;
    expect(performance.now() - startedAt).toBeLessThan(2_600);
    const [first, second, third] = await seed.jobs();
    expect(first).toMatchObject({ status: 'delivered' });
    expect(second).toMatchObject({ status: 'pending', leased: false, attempts: 0, tries: 0 });
    expect(third).toMatchObject({ status: 'pending', leaseNo: 0 });
    // Another worker goes on at once.
    target.setHandler(() => 200);
    await startWorker();
    await allDelivered();
  });
});
