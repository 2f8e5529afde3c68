import { assertNever, type Consumer } from '@ghost/contract';
import {
  ClockWatch,
  dropConnections,
  isDatabaseOutage,
  Listener,
  OUTBOX_CHANNEL,
  type Pool,
  REPLAY_CHANNEL,
} from '@ghost/db';
import { type Queue, type Sql, sqlOfPool } from '@ghost/queue';
import type { Settings } from '@ghost/settings';
import {
  Inject,
  Injectable,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import type { Logger } from 'pino';

import { CancellingService } from '../cancelling/cancelling.service.js';
import {
  DATABASE_CONNECTION,
  type DatabaseConnection,
  LOGGER,
  POOL,
  QUEUE,
  SETTINGS,
} from '../database/tokens.js';
import { ReplayRunner } from '../hooks/replays/replay-runner.js';
import { NotifierService } from '../notifier/notifier.service.js';
import { RetentionService } from '../retention/retention.service.js';
import { WebhookFanoutService } from '../webhook-fanout/webhook-fanout.service.js';
import { DeliveryWake } from './delivery-wake.js';
import { describeError } from './describe-error.js';
import { fanOutPage, type PageOutcome } from './fan-out-page.js';
import type { ClaimedProgress, FanoutConsumer } from './fanout-consumer.js';
import { OutboxProgress } from './outbox-progress.js';

/** Pages under way at once, so rows claimed at once: a row is charged when it starts. */
const BATCH_SIZE = 4;
/** The longest wait while something is unfinished; with nothing unfinished no timer runs at all. */
const RETRY_INTERVAL_MS = 15 * 60_000;
/**
 * Between two pages of an event, of some 50 ms each: the rest of the processor is for requests.
 * Measured with 100,000 readers on 2 cores while one posts comments as fast as it can: posts take 1.3 ×
 * their time at 6,500 jobs/s, instead of 1.5 × at 8,000.
 */
const PAGE_PAUSE_MS = 100;
/** A due row that could not be claimed is held by somebody's open page: looking at once would spin. */
const OVERDUE_WAIT_MS = 250;
/** While a page runs: how long something that came due may wait for the next look. */
const LOOK_AGAIN_MS = 500;
const RECONNECT_DELAY_MS = 5000;
const LONGEST_RECONNECT_MS = 60_000;
/** After a statement that the server ended (deadlock, full disk) while it answers others; doubles. */
const OUTAGE_PAUSE_MS = 1000;
const LONGEST_OUTAGE_PAUSE_MS = 60_000;

const FAILURE_EVENT = {
  retry: 'outbox.failed',
  set_aside: 'outbox.set_aside',
  fenced: 'outbox.fenced',
} as const;

/**
 * Hands each committed event to every consumer, page by page, at least once and oldest first. Several
 * processes share the outbox. Nothing is polled: a NOTIFY wakes it, and a timer runs only while
 * something is unfinished. A consumer added later is one more case in `dispatch`.
 */
@Injectable()
export class OutboxService implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly sql: Sql;
  private readonly progress: OutboxProgress;
  private readonly listener: Listener;
  private readonly clock: ClockWatch;
  private readonly delivery: DeliveryWake;
  private timer: NodeJS.Timeout | undefined;
  private draining: Promise<void> | undefined;
  private rerun = false;
  private stopped = false;
  /** Whether a page was saved since the last drain that ended in order. */
  private worked = false;
  /** Wakes the drain that waits for its pages. */
  private signal: () => void = () => undefined;
  /** Set when the database answers nothing at all: ends the drain. */
  private unreachable: Error | undefined;
  /** Drains in a row that failed, and pages in a row that an outage broke off. */
  private failedDrains = 0;
  private brokenPages = 0;

  constructor(
    @Inject(POOL) private readonly pool: Pool,
    @Inject(QUEUE) private readonly queue: Queue,
    @Inject(NotifierService) private readonly notifier: NotifierService,
    @Inject(WebhookFanoutService) private readonly webhooks: WebhookFanoutService,
    @Inject(DATABASE_CONNECTION) connection: DatabaseConnection,
    @Inject(SETTINGS) settings: Pick<Settings, 'outboxRetryBaseMs' | 'deliveryWakeUrl'>,
    @Inject(LOGGER) private readonly logger: Logger,
    @Inject(RetentionService) private readonly retention: Pick<RetentionService, 'worked'>,
    @Inject(ReplayRunner) replays: Pick<ReplayRunner, 'wake'>,
    @Inject(CancellingService) private readonly cancelling: Pick<CancellingService, 'worked'>,
  ) {
    this.sql = sqlOfPool(pool);
    this.progress = new OutboxProgress(this.sql, settings.outboxRetryBaseMs);
    this.delivery = new DeliveryWake(settings.deliveryWakeUrl, (error) => {
      this.logger.debug({ event: 'outbox.wake_failed', ...describeError(error) });
    });
    this.listener = new Listener({
      connectionString: connection.listenUrl,
      channels: [OUTBOX_CHANNEL, REPLAY_CHANNEL],
      name: 'ghost api outbox',
      heartbeatMs: connection.heartbeatMs,
      onWake: (why, channel) => {
        if (why === 'connected' || channel === REPLAY_CHANNEL) replays.wake();
        if (channel === REPLAY_CHANNEL) return;
        // A process that died may have ended an event that nobody closed.
        if (why === 'connected') this.progress.sweepAgain();
        this.wake();
      },
      onProblem: (message, error) => {
        this.logger.warn({ event: 'outbox.listener_lost', ...describeError(error) }, message);
        // Nobody hears a NOTIFY meanwhile: look at each attempt to reconnect.
        this.wake();
        replays.wake();
      },
    });
    this.clock = new ClockWatch({
      now: () => Date.now(),
      monotonic: () => performance.now(),
      onGap: ({ gapMs }) => {
        const dropped = dropConnections(pool);
        logger.warn(
          { event: 'outbox.clock_gap', gap_ms: gapMs, dropped },
          'The process did not run for a while; its connections are made anew',
        );
        this.listener.reconnect();
      },
    });
  }

  /** Whether a NOTIFY would be heard. */
  get listening(): boolean {
    return this.listener.connected;
  }

  async onApplicationBootstrap(): Promise<void> {
    this.wake();
    // Jobs of a process that died between their commit and its call would leave delivery asleep.
    this.delivery.wake();
    this.clock.start();
    await this.listener.start();
  }

  /** Ends when the pages in hand have committed; what is left goes on in another process. */
  async onApplicationShutdown(): Promise<void> {
    this.stopped = true;
    this.clock.stop();
    clearTimeout(this.timer);
    this.signal();
    const interrupted = this.draining;
    await Promise.all([this.listener.stop(), interrupted, this.delivery.stop()]);
    if (!interrupted) return;
    await this.sql
      .query('SELECT pg_notify($1, $2)', [OUTBOX_CHANNEL, ''])
      .catch((error: unknown) =>
        this.logger.warn({ event: 'outbox.handover_failed', ...describeError(error) }),
      );
  }

  private wake(): void {
    if (this.stopped) return;
    // A wake during a drain may be for a row that the drain already looked past.
    if (this.draining) {
      this.rerun = true;
      this.signal();
      return;
    }
    clearTimeout(this.timer);
    this.timer = undefined;
    this.draining = this.drainAndPlan().finally(() => {
      this.draining = undefined;
      if (!this.rerun) return;
      this.rerun = false;
      this.wake();
    });
  }

  private async drainAndPlan(): Promise<void> {
    this.unreachable = undefined;
    try {
      await this.drain();
      const dueInMs = await this.progress.nextDueInMs();
      this.failedDrains = 0;
      if (this.worked) {
        this.worked = false;
        this.retention.worked();
        this.cancelling.worked();
      }
      if (dueInMs === null) return;
      this.wakeIn(dueInMs === 0 ? OVERDUE_WAIT_MS : Math.min(dueInMs, RETRY_INTERVAL_MS));
    } catch (error) {
      const delayMs = Math.min(LONGEST_RECONNECT_MS, RECONNECT_DELAY_MS * 2 ** this.failedDrains);
      this.failedDrains += 1;
      const level = isDatabaseOutage(error) ? 'warn' : 'error';
      this.logger[level](
        { event: 'outbox.drain_failed', ...describeError(error), retry_in_ms: delayMs },
        `Draining the outbox failed; trying again in ${delayMs} ms`,
      );
      this.wakeIn(delayMs);
    }
  }

  private wakeIn(delayMs: number): void {
    if (this.stopped) return;
    this.timer = setTimeout(() => this.wake(), delayMs);
  }

  /**
   * Works through what is due until a claim finds nothing and every page has ended. A failed event
   * waits for its back-off and does not keep the drain from the rows behind it.
   * @throws when the database does not answer, after the pages under way have ended
   */
  async drain(): Promise<void> {
    const running = new Map<ClaimedProgress, Promise<void>>();
    try {
      await this.progress.tidy();
      let more = true;
      while (!this.stopped && this.unreachable === undefined) {
        const woken = new Promise<void>((resolve) => {
          this.signal = resolve;
        });
        // A claim that came short took all there was: the next is after a wake, or the last page.
        if (mayStart(running) && (more || this.rerun || running.size === 0)) {
          this.rerun = false;
          more = await this.startDue(running);
        }
        if (running.size > 0) {
          const waited = dueIn(LOOK_AGAIN_MS);
          // A page that waits for a lock must not keep others from what comes due meanwhile.
          if (await Promise.race([...running.values(), woken, waited.due])) more = true;
          waited.cancel();
        } else if (!more && !this.rerun) break;
      }
    } finally {
      await Promise.all(running.values());
    }
    if (this.unreachable !== undefined) throw this.unreachable;
    await this.progress.closeEnded();
  }

  /** Claims what can start now and starts it; tells whether more may be due. */
  private async startDue(running: Map<ClaimedProgress, Promise<void>>): Promise<boolean> {
    const free = BATCH_SIZE - running.size;
    const { claimed, setAside } = await this.progress.claim(free, running.size === 0);
    for (const { eventId, type, consumer, error } of setAside) {
      this.logger.error({ event: 'outbox.set_aside', event_id: eventId, type, consumer, error });
    }
    if (this.stopped) {
      await this.progress.giveBack(claimed);
      return false;
    }
    for (const row of claimed) {
      const page = this.run(row).finally(() => running.delete(row));
      running.set(row, page);
    }
    // Behind a suspect and what was set aside the claim did not look.
    return claimed.length === free || setAside.length > 0 || claimed.some((row) => row.suspect);
  }

  /** Runs one page to its outcome; never rejects. */
  private async run(claimed: ClaimedProgress): Promise<void> {
    const startedAt = performance.now();
    try {
      const outcome = await this.dispatch(claimed);
      const line = {
        event_id: claimed.event.id,
        type: claimed.event.type,
        consumer: claimed.consumer,
        ms: Math.round(performance.now() - startedAt),
      };
      await this.conclude(claimed, outcome, line);
    } catch (error) {
      // Not even the outcome could be written; the lease ends by itself.
      this.unreachable = new Error('The outcome of a page could not be written', { cause: error });
    }
  }

  /** Hands a page to its consumer. Each has its own progress: one that fails stops no other. */
  private async dispatch(claimed: ClaimedProgress): Promise<PageOutcome> {
    return fanOutPage(
      this.pool,
      this.queue,
      this.consumer(claimed.consumer),
      claimed,
      PAGE_PAUSE_MS,
    );
  }

  private consumer(name: Consumer): FanoutConsumer {
    switch (name) {
      case 'notifier':
        return this.notifier;
      case 'webhook-fanout':
        return this.webhooks;
      default:
        return assertNever(name);
    }
  }

  private async conclude(
    claimed: ClaimedProgress,
    outcome: PageOutcome,
    line: object,
  ): Promise<void> {
    switch (outcome.state) {
      case 'saved': {
        const { jobs, skipped, last } = outcome;
        this.logger.info({ event: 'outbox.fanned_out', ...line, jobs, skipped, last });
        this.brokenPages = 0;
        this.worked = true;
        if (last) this.progress.end(claimed);
        if (jobs > 0) this.delivery.wake();
        return;
      }
      case 'fenced':
        // Its lease was lost to another start: nothing was written.
        this.logger.info({ event: 'outbox.fenced', ...line });
        return;
      case 'failed': {
        const described = describeError(outcome.error);
        const { attempts } = claimed;
        const state = await this.progress.fail(claimed, described.error);
        const level = state === 'set_aside' ? 'error' : 'warn';
        this.logger[level]({ event: FAILURE_EVENT[state], ...line, ...described, attempts });
        return;
      }
      case 'outage': {
        this.logger.warn({ event: 'outbox.interrupted', ...line, ...describeError(outcome.error) });
        this.progress.owe(claimed);
        // Its commit may have been kept, and only the answer lost: then somebody has to close and wake.
        this.progress.sweepAgain();
        this.delivery.wake();
        const pauseMs = OUTAGE_PAUSE_MS * 2 ** this.brokenPages;
        this.brokenPages += 1;
        return this.progress.payBack(Math.min(pauseMs, LONGEST_OUTAGE_PAUSE_MS));
      }
      default:
        return assertNever(outcome);
    }
  }
}

/** Resolves to true after a time, unless it is cancelled before. */
function dueIn(delayMs: number): { due: Promise<true>; cancel: () => void } {
  let timer: NodeJS.Timeout | undefined;
  const due = new Promise<true>((resolve) => {
    timer = setTimeout(() => resolve(true), delayMs);
  });
  return { due, cancel: () => clearTimeout(timer) };
}

/** A suspect runs alone: what it may kill is then itself only. */
function mayStart(running: ReadonlyMap<ClaimedProgress, unknown>): boolean {
  return running.size < BATCH_SIZE && ![...running.keys()].some((row) => row.suspect);
}
