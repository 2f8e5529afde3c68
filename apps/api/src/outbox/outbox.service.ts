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
import { describeError } from '../describe-error.js';
import { ReplayRunner } from '../hooks/replays/replay-runner.js';
import { NotifierService } from '../notifier/notifier.service.js';
import { RetentionService } from '../retention/retention.service.js';
import { WebhookFanoutService } from '../webhook-fanout/webhook-fanout.service.js';
import { DeliveryWake } from './delivery-wake.js';
import { fanOutPage, type PageOutcome } from './fan-out-page.js';
import type { ClaimedProgress, FanoutConsumer } from './fanout-consumer.js';
import { OutboxDrain } from './outbox-drain.js';
import { OutboxProgress } from './outbox-progress.js';

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
/** An event that ended could not be closed, or progress not given back, as somebody holds it. */
const TIDY_AGAIN_MS = 2_000;
const RECONNECT_DELAY_MS = 5000;
const LONGEST_RECONNECT_MS = 60_000;

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
  private readonly pages: OutboxDrain;
  private timer: NodeJS.Timeout | undefined;
  private draining: Promise<void> | undefined;
  private stopped = false;
  /** Drains in a row that failed. */
  private failedDrains = 0;

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
    this.pages = new OutboxDrain({
      progress: this.progress,
      dispatch: (claimed, lockWithinMs) => this.dispatch(claimed, lockWithinMs),
      delivery: this.delivery,
      logger,
    });
    this.listener = this.makeListener(connection, replays);
    this.clock = this.watchClock();
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
    this.pages.stop();
    const interrupted = this.draining;
    await Promise.all([this.listener.stop(), interrupted, this.delivery.stop()]);
    if (!interrupted) return;
    await this.sql
      .query('SELECT pg_notify($1, $2)', [OUTBOX_CHANNEL, ''])
      .catch((error: unknown) =>
        this.logger.warn({ event: 'outbox.handover_failed', ...describeError(error) }),
      );
  }

  private makeListener(
    connection: DatabaseConnection,
    replays: Pick<ReplayRunner, 'wake'>,
  ): Listener {
    return new Listener({
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
  }

  private watchClock(): ClockWatch {
    return new ClockWatch({
      now: () => Date.now(),
      monotonic: () => performance.now(),
      onGap: ({ gapMs }) => {
        const dropped = dropConnections(this.pool);
        this.logger.warn(
          { event: 'outbox.clock_gap', gap_ms: gapMs, dropped },
          'The process did not run for a while; its connections are made anew',
        );
        this.listener.reconnect();
      },
    });
  }

  private wake(): void {
    if (this.stopped) return;
    // A wake during a drain may be for a row that the drain already looked past.
    if (this.draining) {
      this.pages.wake();
      return;
    }
    clearTimeout(this.timer);
    this.timer = undefined;
    this.draining = this.drainAndPlan().finally(() => {
      this.draining = undefined;
      if (this.pages.takeWake()) this.wake();
    });
  }

  private async drainAndPlan(): Promise<void> {
    try {
      await this.drain();
      const dueInMs = await this.progress.nextDueInMs();
      this.failedDrains = 0;
      if (this.pages.takeSaved()) {
        this.retention.worked();
        this.cancelling.worked();
      }
      const longestMs = this.progress.isUntidy ? TIDY_AGAIN_MS : RETRY_INTERVAL_MS;
      if (dueInMs === null && !this.progress.isUntidy) return;
      this.wakeIn(dueInMs === 0 ? OVERDUE_WAIT_MS : Math.min(dueInMs ?? longestMs, longestMs));
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
    await this.pages.drain();
  }

  /** Hands a page to its consumer. Each has its own progress: one that fails stops no other. */
  private async dispatch(claimed: ClaimedProgress, lockWithinMs: number): Promise<PageOutcome> {
    return fanOutPage(this.pool, this.queue, this.consumer(claimed.consumer), claimed, {
      pauseMs: PAGE_PAUSE_MS,
      lockWithinMs,
    });
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
}
