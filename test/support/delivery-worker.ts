import type { Pool } from '@ghost/db';
import { createPostgresQueue, type Queue } from '@ghost/queue';
import { onTestFinished } from 'vitest';

import { KeptConnections } from '../../apps/delivery/src/net/kept-connections.js';
import { createResolver, type Resolver } from '../../apps/delivery/src/net/resolver.js';
import type { InHand } from '../../apps/delivery/src/pump/in-hand.js';
import { createHookDirectory } from '../../apps/delivery/src/send/hook-directory.js';
import { prepareWebhooks } from '../../apps/delivery/src/send/prepare-webhooks.js';
import { createWebhookSender } from '../../apps/delivery/src/send/webhook.js';
import { createDeliverySeed, type DeliverySeed, keyRing } from './delivery-seed.js';
import { LEASE_MS, type PumpWish, runPump, workerGround } from './run-pump.js';
import { createTestDatabase } from './test-database.js';
import { waitUntil } from './wait-until.js';
import { LOOPBACK_ALLOWED } from './webhook-sender.js';

export interface WorkerSettings {
  leaseMs?: number;
  laneSlots?: number;
  concurrency?: number;
  mostBytes?: number;
  deadlineMs?: number;
  claimWithinMs?: number;
  maxAttempts?: number;
  retryBaseMs?: number;
  /** From 0 up to 1, for the back-off. */
  random?: () => number;
  /** Stands between the worker and the queue. */
  around?: (queue: Queue) => Partial<Queue>;
}

export interface Worker {
  inHand: InHand;
  /** Statements that went to the database. */
  statements: () => number;
  lines: Record<string, unknown>[];
  stop: (graceMs?: number) => Promise<void>;
}

/** A migrated database with what a delivery needs, until the test ends. */
export async function seededDatabase(): Promise<{ databaseUrl: string; seed: DeliverySeed }> {
  const database = await createTestDatabase();
  onTestFinished(() => database.drop());
  const seed = await createDeliverySeed(database.url);
  onTestFinished(() => seed.close());
  return { databaseUrl: database.url, seed };
}

export async function statuses(seed: DeliverySeed) {
  return (await seed.jobs()).map((job) => job.status);
}

export async function allDelivered(seed: DeliverySeed): Promise<void> {
  await waitUntil(async () => (await statuses(seed)).every((status) => status === 'delivered'), {
    what: 'all jobs to be delivered',
  });
}

/** The pieces of main.ts around a database of the test's own, until the test ends. */
export async function startWorker(url: string, settings: WorkerSettings = {}): Promise<Worker> {
  const { leaseMs = LEASE_MS, concurrency = 50, claimWithinMs, mostBytes } = settings;
  const ground = workerGround(url, 'worker');
  const { pool, lines } = ground;
  const { queue, statements } = countedQueue(pool, settings);
  const kept = new KeptConnections();
  const resolver = createResolver();
  const { inHand, stop } = await runPump(ground, {
    kind: 'webhook',
    capacity: () => concurrency,
    ...(mostBytes === undefined ? {} : { mostBytes }),
    ...(claimWithinMs === undefined ? {} : { claimWithinMs }),
    queue,
    leaseMs,
    parts: partsOf(settings, kept, resolver),
    closers: [() => kept.closeAll(), () => resolver.close()],
  });
  return { inHand, statements, lines, stop };
}

/** The queue as the worker sees it: each statement counted, and what the test puts around it. */
function countedQueue(
  pool: Pool,
  { leaseMs = LEASE_MS, laneSlots = 10, around }: WorkerSettings,
): { queue: Queue; statements: () => number } {
  let statements = 0;
  const beside = { webhook: 'hook_targets' };
  const inner = createPostgresQueue({ pool, leaseMs, laneSlots, beside });
  const counted: Queue = {
    ...inner,
    claim: (capacity) => ((statements += 1), inner.claim(capacity)),
    nextDue: (...of) => ((statements += 1), inner.nextDue(...of)),
    settle: (settlements) => ((statements += 1), inner.settle(settlements)),
    extend: (leases) => ((statements += 1), inner.extend(leases)),
  };
  return { queue: { ...counted, ...around?.(counted) }, statements: () => statements };
}

function partsOf(
  settings: WorkerSettings,
  kept: KeptConnections,
  resolver: Resolver,
): PumpWish['parts'] {
  const send = createWebhookSender({
    dialer: { resolver, policy: LOOPBACK_ALLOWED },
    kept,
    deadlineMs: settings.deadlineMs ?? 10_000,
    userAgent: 'Ghost-Delivery/test',
    now: () => Date.now(),
  });
  return {
    prepare: prepareWebhooks(createHookDirectory(keyRing()), send),
    policy: {
      webhook: {
        maxAttempts: settings.maxAttempts ?? 16,
        baseMs: settings.retryBaseMs ?? 10_000,
        capMs: 60_000,
      },
    },
    onAttempt: () => undefined,
    now: () => Date.now(),
    random: settings.random ?? Math.random,
  };
}
