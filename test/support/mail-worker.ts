import { createPostgresQueue, sqlOfPool } from '@ghost/queue';
import { readSettings } from '@ghost/settings';
import { createTransport } from 'nodemailer';

import type { DeliveryParts } from '../../apps/delivery/src/deliver.js';
import {
  createMailDelivery,
  type MailDelivery,
} from '../../apps/delivery/src/send/mail-delivery.js';
import { SMTP_TIMES } from '../../apps/delivery/src/send/smtp-session.js';
import { testEnvironment } from './ghost-processes.js';
import { LEASE_MS, runPump, workerGround } from './run-pump.js';

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
  const ground = workerGround(databaseUrl, 'mail worker');
  const { pool, log, lines } = ground;
  const env = {
    ...testEnvironment(databaseUrl),
    GHOST_SMTP_URL: settings.relayUrl,
    ...settings.env,
  };
  const read = readSettings(env, 'delivery');
  const { smtp } = read;
  if (!smtp) throw new Error('A mail worker needs a relay.');
  const queue = createPostgresQueue({ pool, leaseMs, laneSlots: 10 });
  const mails = createMailDelivery({
    ...{ settings: read, smtp, sql: sqlOfPool(pool), queue, createTransport, now, log },
    monotonic: () => performance.now(),
    onRested: () => ground.wake(),
    times: { ...SMTP_TIMES, ...settings.times },
    pauses: settings.pauses ?? SHORT_PAUSES,
  });
  const { stop } = await runPump(ground, {
    ...{ kind: 'email', capacity: mails.capacity, queue, leaseMs },
    parts: {
      ...{ ...mails, now },
      policy: { webhook: { maxAttempts: 16, baseMs: 10_000, capMs: 60_000 } },
      onAttempt: () => undefined,
      random: settings.random ?? (() => 0),
      suppress: suppressing(mails, settings.suppress),
    },
    closers: [() => mails.close()],
  });
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
