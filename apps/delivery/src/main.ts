import { ClockWatch, createPool, DELIVERY_CHANNEL, dropConnections, Listener } from '@ghost/db';
import {
  checkCommit,
  checkDatabase,
  checkNewestSecrets,
  findUntoldHolds,
  StartError,
} from '@ghost/operations';
import { createPostgresQueue, type Queue, sqlOfPool } from '@ghost/queue';
import { EXIT, readSettings, type Settings, SettingsError } from '@ghost/settings';
import type { Logger } from 'pino';

import { TOLD_HOLD_REASONS } from './failing/told-holds.js';
import { watchFaults } from './failing/watch-faults.js';
import { ClaimGate } from './pump/claim-gate.js';
import { DatabaseState } from './pump/database-state.js';
import { IdleMemory } from './pump/idle-memory.js';
import { InHand } from './pump/in-hand.js';
import { LeaseKeeper } from './pump/lease-keeper.js';
import type { Pump } from './pump/pump.js';
import { Settler } from './pump/settler.js';
import { answerWithinMs, LOCK_WITHIN_MS } from './rules/answer-within.js';
import { shutDown } from './shutdown.js';
import type { Core } from './start/core.js';
import { makeMailPump, makeWebhookPump } from './start/make-pumps.js';
import { endIfPartIsMissing } from './start/missing-part.js';
import { createLog } from './status/log.js';
import { createMetrics } from './status/metrics.js';
import { startStatusServer, type StatusServer } from './status/server.js';
import { VERSION } from './version.js';

const NAME = 'ghost delivery';
const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

const now = () => Date.now();
const monotonic = () => performance.now();
const loadTransport = async () => (await import('nodemailer')).createTransport;

/** The composition root: the environment in, signals in, an exit code out. */
async function main(): Promise<void> {
  let settings: Settings<'delivery'>;
  try {
    settings = readSettings(process.env, 'delivery');
  } catch (error) {
    if (error instanceof SettingsError) return exit(error.exitCode, error.message);
    throw error;
  }
  const stop = new Promise<void>((resolve) => {
    // Kept for ever: a second signal, from a terminal's whole group, must not cut the orderly end.
    for (const signal of SIGNALS) process.on(signal, () => resolve());
  });
  const log = createLog(settings.logLevel);
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (error: unknown) => {
      log.fatal({ event: 'delivery.crashed', err: error });
      process.exit(EXIT.failed);
    });
  }
  const closers: (() => unknown)[] = [];
  try {
    const end = await start(settings, log, closers);
    await stop;
    await end();
    return exit(0);
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    for (const close of closers) await Promise.resolve(close()).catch(() => undefined);
    return exit(error.exitCode, error.message);
  }
}

/** Starts everything, or throws a StartError with what to do; `closers` close what was opened. */
async function start(
  settings: Settings<'delivery'>,
  log: Logger,
  closers: (() => unknown)[],
): Promise<() => Promise<void>> {
  await checkDatabase(settings.databaseUrl);
  const pumps: Pump[] = [];
  const wake = () => {
    for (const pump of pumps) pump.wake();
  };
  const listener = new Listener({
    connectionString: settings.listenDatabaseUrl,
    channels: [DELIVERY_CHANNEL],
    name: NAME,
    heartbeatMs: settings.heartbeatMs,
    onWake: wake,
    onProblem: (message, error) => {
      log.warn({ event: 'delivery.listener_problem', err: error }, message);
      // Nobody tells of new work now, so each try to listen again looks for it too.
      wake();
    },
  });
  const core = makeCore(settings, log, closers, listener);
  await checkCommit(core.pool, settings.databaseUrl);
  await checkNewestSecrets(core.sql, settings.keyRing);
  const clock = watchClock(core, listener);
  let stopping = false;
  const status = await listen(core, {
    // The first sign of life after a freeze may come before any timer.
    wake: () => {
      clock.look();
      wake();
      void listener.check();
    },
    listener,
    stopping: () => stopping,
  });
  closers.unshift(
    () => clock.stop(),
    () => listener.stop(),
  );
  const faults = watchFaults({ ...core, periodMs: settings.hookDisableAfterMs });
  // Of a process that died between a hold and the mail about it.
  for (const fault of await findUntoldHolds(core.sql, TOLD_HOLD_REASONS)) faults.found(fault);
  pumps.push(makeWebhookPump(core, faults.heard));
  const mailPump = await makeMailPump(core, loadTransport);
  if (mailPump) pumps.push(mailPump);
  const leases = new LeaseKeeper({ ...core, leaseMs: settings.leaseMs });
  const memory = new IdleMemory(core);
  closers.unshift(
    () => leases.stop(),
    () => memory.stop(),
  );
  for (const pump of pumps) pump.start();
  await listener.start();
  clock.start();
  log.info({ event: 'delivery.started', version: VERSION, port: status.port, pid: process.pid });
  return async () => {
    stopping = true;
    await shutDown({ ...core, pumps }, settings.shutdownGraceMs);
  };
}

/** After a clock gap everything is dialed anew; the listener's connection comes with a scan. */
function watchClock({ log, renewals, inHand }: Core, listener: Listener): ClockWatch {
  return new ClockWatch({
    now,
    monotonic,
    onGap: ({ gapMs, uncountedMs }) => {
      log.warn({ event: 'delivery.clock_gap', gapMs }, 'The process did not run for a while');
      // Leases are counted on the monotonic clock, which stood still while the machine slept.
      for (const held of inHand.all()) held.leaseEndsAt -= uncountedMs;
      for (const renew of renewals) renew();
      listener.reconnect();
    },
  });
}

function makeCore(
  settings: Settings<'delivery'>,
  log: Logger,
  closers: (() => unknown)[],
  listener: Listener,
): Core {
  const database = new DatabaseState(log, monotonic);
  // An address of its own for LISTEN says that the other one leads to a pooler, which knows of no such parameter.
  const pooled = settings.listenDatabaseUrl !== settings.databaseUrl;
  const pool = createPool({
    connectionString: settings.databaseUrl,
    name: NAME,
    max: settings.poolSize,
    answerWithinMs: answerWithinMs(settings.leaseMs),
    ...(pooled ? {} : { lockWithinMs: LOCK_WITHIN_MS }),
    onError: (error) => log.warn({ event: 'database.connection_lost', err: error }),
  });
  closers.push(() => pool.end());
  const loaded = endIfPartIsMissing(log);
  const inHand = new InHand();
  const metrics = createMetrics(() => loaded(loadPrometheus()));
  const loadPrometheus = async () => {
    const { createPrometheus } = await import('./status/prometheus.js');
    return createPrometheus(['webhook', 'email'], {
      sending: (kind) => inHand.sending(kind),
      inHand: () => inHand.size,
      bytes: (kind) => inHand.bytes(kind),
      databaseUp: () => database.up,
      listening: () => listener.connected,
    });
  };
  const postgresQueue = createPostgresQueue({
    pool,
    ...(pooled ? { lockWithinMs: LOCK_WITHIN_MS } : { prepared: true }),
    leaseMs: settings.leaseMs,
    laneSlots: settings.laneConcurrency,
    beside: { webhook: 'hook_targets' },
  });
  // The first claim that brings jobs loads the shapes of jobs.
  const queue: Queue = {
    ...postgresQueue,
    claim: (capacity) => loaded(postgresQueue.claim(capacity)),
  };
  const settler = new Settler({ queue, database, now, log, onFlush: metrics.settled });
  return {
    settings,
    log,
    pool,
    sql: sqlOfPool(pool, { prepared: !pooled }),
    queue,
    inHand,
    gate: new ClaimGate(inHand),
    settler,
    database,
    metrics,
    loaded,
    closers,
    renewals: [() => dropConnections(pool)],
    now,
    monotonic,
  };
}

async function listen(
  { settings, metrics, database, sql, closers }: Core,
  { wake, listener, stopping }: { wake: () => void; listener: Listener; stopping: () => boolean },
): Promise<StatusServer> {
  const ping = async () => {
    await sql.query('SELECT 1', []);
    database.answered();
  };
  try {
    const status = await startStatusServer(settings, {
      metrics,
      wake,
      database,
      ping,
      listening: () => listener.connected,
      stopping,
    });
    closers.unshift(() => status.close());
    return status;
  } catch (cause) {
    throw new StartError(
      EXIT.unavailable,
      `Cannot listen on ${settings.host}:${settings.port} (${String(Reflect.get(Object(cause), 'code'))}). Stop what listens there, or set HOST and PORT to a free place.`,
      { cause },
    );
  }
}

function exit(code: number, message?: string): void {
  if (message !== undefined) process.stderr.write(`${NAME}: ${message}\n`);
  process.exit(code);
}

await main();
