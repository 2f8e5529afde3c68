import { createPool, DELIVERY_CHANNEL, Listener, type Pool } from '@ghost/db';
import { createPostgresQueue, type Queue, sqlOfPool } from '@ghost/queue';
import { type Logger, pino } from 'pino';
import { onTestFinished } from 'vitest';

import { deliver, type DeliveryParts } from '../../apps/delivery/src/deliver.js';
import { KeptConnections } from '../../apps/delivery/src/net/kept-connections.js';
import { createResolver, type Resolver } from '../../apps/delivery/src/net/resolver.js';
import { ClaimGate } from '../../apps/delivery/src/pump/claim-gate.js';
import { DatabaseState } from '../../apps/delivery/src/pump/database-state.js';
import { InHand } from '../../apps/delivery/src/pump/in-hand.js';
import { LeaseKeeper } from '../../apps/delivery/src/pump/lease-keeper.js';
import { Pump } from '../../apps/delivery/src/pump/pump.js';
import { Settler } from '../../apps/delivery/src/pump/settler.js';
import { createHookDirectory } from '../../apps/delivery/src/send/hook-directory.js';
import { prepareWebhooks } from '../../apps/delivery/src/send/prepare-webhooks.js';
import { createWebhookSender } from '../../apps/delivery/src/send/webhook.js';
import { shutDown } from '../../apps/delivery/src/shutdown.js';
import { createDeliverySeed, type DeliverySeed, keyRing } from './delivery-seed.js';
import { createTestDatabase } from './test-database.js';
import { waitUntil } from './wait-until.js';
import { LOOPBACK_ALLOWED } from './webhook-sender.js';

const LEASE_MS = 30_000;

export interface WorkerSettings {
  leaseMs?: number;
  laneSlots?: number;
  concurrency?: number;
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
  const { leaseMs = LEASE_MS } = settings;
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
  const { queue, statements } = countedQueue(pool, settings);
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
  const parts: DeliveryParts = {
    inHand,
    settler,
    ...partsOf(settings, pool, kept, resolver, log),
    onSettled: (pending) => pump.settled(pending),
  };
  const gate = new ClaimGate(inHand);
  const pump = new Pump({
    kind: 'webhook',
    version: 1,
    capacity: () => settings.concurrency ?? 50,
    ...(settings.claimWithinMs === undefined ? {} : { claimWithinMs: settings.claimWithinMs }),
    queue,
    inHand,
    gate,
    database: state,
    writable: () => settler.writable(),
    deliver: (claim) => deliver(claim, parts),
    log,
  });
  const listener = new Listener({
    connectionString: url,
    channels: [DELIVERY_CHANNEL],
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
  onTestFinished(() => stop(0));
  return { inHand, statements, lines, stop };
}

/** The queue as the worker sees it: each statement counted, and what the test puts around it. */
function countedQueue(
  pool: Pool,
  { leaseMs = LEASE_MS, laneSlots = 10, around }: WorkerSettings,
): { queue: Queue; statements: () => number } {
  let statements = 0;
  const inner = createPostgresQueue({ pool, leaseMs, laneSlots });
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
  pool: Pool,
  kept: KeptConnections,
  resolver: Resolver,
  log: Logger,
): Omit<DeliveryParts, 'inHand' | 'settler' | 'onSettled'> {
  const send = createWebhookSender({
    dialer: { resolver, policy: LOOPBACK_ALLOWED },
    kept,
    deadlineMs: settings.deadlineMs ?? 10_000,
    userAgent: 'Ghost-Delivery/test',
    now: () => Date.now(),
  });
  return {
    prepare: prepareWebhooks(createHookDirectory(sqlOfPool(pool), keyRing()), send),
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
    log,
  };
}
