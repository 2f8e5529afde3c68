import { createPool, DELIVERY_CHANNEL, Listener } from '@ghost/db';
import { createPostgresQueue, sqlOfPool } from '@ghost/queue';
import { readSettings } from '@ghost/settings';
import { createTransport } from 'nodemailer';
import { pino } from 'pino';
import { onTestFinished } from 'vitest';

import { deliver, type DeliveryParts } from '../../apps/delivery/src/deliver.js';
import { ClaimGate } from '../../apps/delivery/src/pump/claim-gate.js';
import { DatabaseState } from '../../apps/delivery/src/pump/database-state.js';
import { InHand } from '../../apps/delivery/src/pump/in-hand.js';
import { LeaseKeeper } from '../../apps/delivery/src/pump/lease-keeper.js';
import { Pump } from '../../apps/delivery/src/pump/pump.js';
import { Settler } from '../../apps/delivery/src/pump/settler.js';
import {
  createMailDelivery,
  type MailDelivery,
} from '../../apps/delivery/src/send/mail-delivery.js';
import { SMTP_TIMES } from '../../apps/delivery/src/send/smtp-session.js';
import { shutDown } from '../../apps/delivery/src/shutdown.js';
import { testEnvironment } from './ghost-processes.js';

const LEASE_MS = 30_000;
/** A rest is as short as a test can wait for, and grows as in production. */
const SHORT_PAUSES = { firstMs: 60, longestMs: 3_600 };

export interface MailWorkerSettings {
  /** `smtp://127.0.0.1:port`, with a log-in where there is one. */
  relayUrl: string;
  /** More of the environment, such as `GHOST_SMTP_TLS`. */
  env?: Record<string, string>;
  times?: { toTheDotMs?: number; afterTheDotMs?: number };
  pauses?: { firstMs: number; longestMs: number };
  leaseMs?: number;
  /** From 0 up to 1, for the back-off; 0, so at once, unless told otherwise. */
  random?: () => number;
  now?: () => number;
  /** Stands between the worker and what it writes of addresses. */
  suppress?: (write: () => Promise<void>) => Promise<void>;
}

export interface MailWorker {
  lines: Record<string, unknown>[];
  check: MailDelivery['check'];
  stop: (graceMs?: number) => Promise<void>;
}

/** A delivery worker for mails alone, of the pieces of main.ts, on a database of the test's own, until the test ends. */
export async function startMailWorker(
  databaseUrl: string,
  settings: MailWorkerSettings,
): Promise<MailWorker> {
  const { leaseMs = LEASE_MS, now = () => Date.now() } = settings;
  const monotonic = () => performance.now();
  const lines: Record<string, unknown>[] = [];
  const log = pino(
    { level: 'debug' },
    { write: (line: string) => void lines.push(JSON.parse(line)) },
  );
  const env = {
    ...testEnvironment(databaseUrl),
    GHOST_SMTP_URL: settings.relayUrl,
    ...settings.env,
  };
  const read = readSettings(env, 'delivery');
  const { smtp } = read;
  if (!smtp) throw new Error('A mail worker needs a relay.');
  const pool = createPool({
    connectionString: databaseUrl,
    name: 'mail worker',
    max: 5,
    onError: () => undefined,
  });
  const queue = createPostgresQueue({ pool, leaseMs, laneSlots: 10 });
  const database = new DatabaseState(log, monotonic);
  const inHand = new InHand();
  const settler = new Settler({ queue, database, now: () => Date.now(), log });
  const leases = new LeaseKeeper({ queue, inHand, leaseMs, monotonic, log });
  const mails = createMailDelivery({
    ...{ settings: read, smtp, sql: sqlOfPool(pool), queue, createTransport, now, monotonic, log },
    onRested: () => pump.wake(),
    times: { ...SMTP_TIMES, ...settings.times },
    pauses: settings.pauses ?? SHORT_PAUSES,
  });
  const parts: DeliveryParts = {
    ...{ ...mails, inHand, settler, now, log },
    policy: { webhook: { maxAttempts: 16, baseMs: 10_000, capMs: 60_000 } },
    onSettled: (pending) => pump.settled(pending),
    onAttempt: () => undefined,
    random: settings.random ?? (() => 0),
    suppress: suppressing(mails, settings.suppress),
  };
  const pump = new Pump({
    ...{ kind: 'email', version: 1, capacity: mails.capacity, queue, inHand, database, log },
    gate: new ClaimGate(inHand),
    writable: () => settler.writable(),
    deliver: (claim) => deliver(claim, parts),
  });
  const listener = new Listener({
    connectionString: databaseUrl,
    channels: [DELIVERY_CHANNEL],
    name: 'mail worker',
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
      () => mails.close(),
      () => listener.stop(),
      () => pool.end(),
    ];
    await shutDown({ pumps: [pump], inHand, settler, closers, log }, graceMs);
  };
  onTestFinished(() => stop(0));
  return { lines, check: mails.check, stop };
}

function suppressing(
  mails: MailDelivery,
  around: MailWorkerSettings['suppress'],
): NonNullable<DeliveryParts['suppress']> {
  const inner = mails.suppress ?? (() => Promise.resolve());
  if (!around) return inner;
  return (job, decision) => around(() => inner(job, decision));
}
