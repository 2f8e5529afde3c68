import { rootCertificates } from 'node:tls';

import { JOB_VERSION, type JobKind } from '@ghost/contract';
import { ClockWatch, createPool, DELIVERY_CHANNEL, dropConnections, Listener } from '@ghost/db';
import { checkDatabase, checkNewestSecrets, StartError } from '@ghost/operations';
import { createPostgresQueue, type Queue, type Sql, sqlOfPool } from '@ghost/queue';
import { EXIT, readSettings, type Settings, SettingsError } from '@ghost/settings';
import { type Logger, pino } from 'pino';

import { deliver, type DeliveryParts } from './deliver.js';
import { KeptConnections } from './net/kept-connections.js';
import { createResolver } from './net/resolver.js';
import { ClaimGate } from './pump/claim-gate.js';
import { DatabaseState } from './pump/database-state.js';
import { InHand } from './pump/in-hand.js';
import { LeaseKeeper } from './pump/lease-keeper.js';
import { Pump } from './pump/pump.js';
import { Settler } from './pump/settler.js';
import { answerWithinMs } from './rules/answer-within.js';
import { createClientLoader } from './send/client-loader.js';
import { createHookDirectory } from './send/hook-directory.js';
import { prepareMails, recipientOf } from './send/prepare-mails.js';
import { prepareWebhooks } from './send/prepare-webhooks.js';
import { createRelayRate } from './send/relay-rate.js';
import { Relay } from './send/relay.js';
import { trackProgress } from './send/smtp-session.js';
import { createSuppressions } from './send/suppressions.js';
import { createWebhookSender } from './send/webhook.js';
import { shutDown } from './shutdown.js';
import { checkRelay } from './start/check-relay.js';
import { smtpOptions } from './start/smtp-options.js';
import { createMetrics, type Metrics } from './status/metrics.js';
import { startStatusServer, type StatusServer } from './status/server.js';
import { VERSION } from './version.js';

const NAME = 'ghost delivery';
const SIGNALS = ['SIGTERM', 'SIGINT'] as const;
/** Mails at once: a relay shares its own limits with others. */
const MAIL_CONNECTIONS = 10;

/** What both kinds of delivery share. */
interface Core {
  settings: Settings<'delivery'>;
  log: Logger;
  sql: Sql;
  queue: Queue;
  inHand: InHand;
  gate: ClaimGate;
  settler: Settler;
  database: DatabaseState;
  metrics: Metrics;
  /** Run in order at the end. */
  closers: (() => unknown)[];
  /** Close connections that may be dead after a clock gap; the next use makes new ones. */
  renewals: (() => unknown)[];
}

const now = () => Date.now();
const monotonic = () => performance.now();

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
  const log = pino({ level: settings.logLevel });
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
    channel: DELIVERY_CHANNEL,
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
  pumps.push(makeWebhookPump(core));
  const mailPump = await makeMailPump(core);
  if (mailPump) pumps.push(mailPump);
  const leases = new LeaseKeeper({ ...core, leaseMs: settings.leaseMs, monotonic });
  closers.unshift(() => leases.stop());
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
  const pool = createPool({
    connectionString: settings.databaseUrl,
    name: NAME,
    max: settings.poolSize,
    answerWithinMs: answerWithinMs(settings.leaseMs),
    onError: (error) => log.warn({ event: 'database.connection_lost', err: error }),
  });
  closers.push(() => pool.end());
  const inHand = new InHand();
  const metrics = createMetrics(['webhook', 'email'], {
    sending: (kind) => inHand.sending(kind),
    inHand: () => inHand.size,
    databaseUp: () => database.up,
    listening: () => listener.connected,
  });
  const queue = createPostgresQueue({
    pool,
    leaseMs: settings.leaseMs,
    laneSlots: settings.laneConcurrency,
  });
  const settler = new Settler({ queue, database, now, log, onFlush: metrics.settled });
  return {
    settings,
    log,
    sql: sqlOfPool(pool),
    queue,
    inHand,
    gate: new ClaimGate(inHand),
    settler,
    database,
    metrics,
    closers,
    renewals: [() => dropConnections(pool)],
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

function makeWebhookPump(core: Core): Pump {
  const { settings, sql, closers, renewals } = core;
  const resolver = createResolver(settings.dnsServers ?? []);
  const kept = new KeptConnections();
  renewals.push(() => kept.closeAll());
  closers.unshift(
    () => kept.closeAll(),
    () => resolver.close(),
  );
  const send = createWebhookSender({
    dialer: {
      resolver,
      policy: settings.addressPolicy,
      ...(settings.egressProxy ? { proxy: settings.egressProxy } : {}),
      ...(settings.extraCa.length > 0
        ? { certificateAuthorities: [...rootCertificates, ...settings.extraCa] }
        : {}),
    },
    kept,
    loadClient: createClientLoader(),
    deadlineMs: settings.webhookDeadlineMs,
    userAgent: `Ghost-Delivery/${VERSION}`,
    now,
  });
  const directory = createHookDirectory(sql, settings.keyRing);
  return makePump(core, 'webhook', () => settings.concurrency, {
    prepare: prepareWebhooks(directory, send),
  });
}

async function makeMailPump(core: Core): Promise<Pump | null> {
  const { settings, sql, queue, log, closers } = core;
  const { smtp, relayRate } = settings;
  if (!smtp) {
    log.warn(
      { event: 'delivery.mails_held' },
      'GHOST_SMTP_URL is not set: mails are kept in the queue. Set it to smtp://user:password@host:port and start again to send them.',
    );
    return null;
  }
  const { createTransport } = await import('nodemailer');
  const transport = createTransport(smtpOptions(settings, smtp, MAIL_CONNECTIONS));
  trackProgress(transport);
  closers.unshift(() => transport.close());
  const relay = new Relay({
    connections: MAIL_CONNECTIONS,
    pause: (reason, pauseMs) => queue.pauseRelay(reason, pauseMs),
    monotonic,
    onRested: () => pump.wake(),
  });
  // Before the first fault: a rest may be over while it is still being stored.
  const suppressions = createSuppressions(sql);
  const turn = relayRate ? createRelayRate(relayRate, monotonic) : undefined;
  const pump = makePump(core, 'email', () => relay.capacity, {
    prepare: prepareMails({ transport, relay, turn, queue, suppressions, now }),
    restRelay: (reason) => relay.rest(reason),
    suppress: (job, { suppression, reason }) =>
      suppression
        ? suppressions.note(recipientOf(job), suppression, reason ?? 'refused')
        : Promise.resolve(),
  });
  const check = await checkRelay(() => transport.verify(), smtp);
  if (check.state === 'refuses') {
    log.error(
      { event: 'delivery.relay_refuses', reason: check.reason, code: check.code },
      'The mail relay answers, and refuses: mails wait and are tried again. Correct GHOST_SMTP_URL, or mend the relay.',
    );
    // Kept in this process all the same, and stored at the next fault.
    await relay
      .rest(check.reason)
      .catch((error: unknown) => log.error({ event: 'delivery.rest_relay_failed', err: error }));
  }
  return pump;
}

function makePump(
  core: Core,
  kind: JobKind,
  capacity: () => number,
  own: Pick<DeliveryParts, 'prepare' | 'restRelay' | 'suppress'>,
): Pump {
  const { settings, settler, metrics } = core;
  const { maxAttempts, retryBaseMs: baseMs, retryCapMs: capMs } = settings;
  const parts: DeliveryParts = {
    ...core,
    ...own,
    policy: { webhook: { maxAttempts, baseMs, capMs } },
    onSettled: (pending) => pump.settled(pending),
    onAttempt: metrics.attempted,
    now,
    random: Math.random,
  };
  const pump = new Pump({
    ...core,
    kind,
    version: JOB_VERSION,
    capacity,
    claimWithinMs: settings.leaseMs / 2,
    writable: () => settler.writable(),
    deliver: (claim) => deliver(claim, parts),
    onClaim: (tookMs, jobs) => metrics.claimed(kind, tookMs, jobs),
  });
  return pump;
}

function exit(code: number, message?: string): void {
  if (message !== undefined) process.stderr.write(`${NAME}: ${message}\n`);
  process.exit(code);
}

await main();
