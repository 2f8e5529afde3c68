import type { Pool } from '@ghost/db';
import { type OpenReplay, openReplays, stepReplay } from '@ghost/operations';
import { type Sql, sqlOfPool } from '@ghost/queue';
import type { Settings } from '@ghost/settings';
import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { Logger } from 'pino';

import { LOGGER, POOL, SETTINGS } from '../../database/tokens.js';
import { describeError } from '../../describe-error.js';
import { DeliveryWake } from '../../outbox/delivery-wake.js';

/** After a step, or a look, that failed; doubles. */
const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 60_000;
/** What is due and somebody else is at: looking at once would spin. */
const LEAST_WAIT_MS = 100;

/**
 * Takes the steps of replays as they come due. Nothing is polled: a NOTIFY wakes it, and a timer runs only while a
 * replay has something to do; one whose hook is held or inactive has not. Where it stands is in the database, so
 * any process goes on where one died, and several at once do no harm.
 */
@Injectable()
export class ReplayRunner implements OnApplicationShutdown {
  private readonly sql: Sql;
  private readonly delivery: DeliveryWake;
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> | undefined;
  /** A wake that no look has heeded yet. */
  private woken = false;
  private stopped = false;
  /** Looks in a row that failed. */
  private failures = 0;
  /** Replays whose newest step failed: how many did in a row, and when the next is taken (monotonic clock). */
  private readonly failing = new Map<number, { failures: number; until: number }>();

  constructor(
    @Inject(POOL) pool: Pool,
    @Inject(SETTINGS) settings: Pick<Settings, 'deliveryWakeUrl'>,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.sql = sqlOfPool(pool);
    this.delivery = new DeliveryWake(settings.deliveryWakeUrl, (error) => {
      this.logger.debug({ event: 'replay.wake_failed', ...describeError(error) });
    });
  }

  /** A replay may have something to do that had not. Returns at once, and never throws. */
  wake(): void {
    this.woken = true;
    this.look();
  }

  /** Ends after the step under way; another process, or the next start, goes on. */
  async onApplicationShutdown(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.timer);
    await this.running;
    await this.delivery.stop();
  }

  private look(): void {
    if (this.stopped || this.running !== undefined) return;
    clearTimeout(this.timer);
    this.running = this.run().finally(() => {
      this.running = undefined;
      if (this.woken) this.look();
    });
  }

  private async run(): Promise<void> {
    const { woken } = this;
    this.woken = false;
    try {
      const replays = await openReplays(this.sql);
      let busy = false;
      for (const replay of replays) {
        if (this.stopped) return;
        if (this.isDue(replay, woken) && !(await this.tryStep(replay.id, woken))) busy = true;
      }
      this.failures = 0;
      // Somebody who was at it may have seen less than this wake tells.
      if (busy && woken) this.lookIn(LEAST_WAIT_MS, true);
      else if (replays.length > 0) this.lookAgain(await openReplays(this.sql));
    } catch (error) {
      this.logger.warn({ event: 'replay.failed', ...describeError(error) });
      const waitMs = retryAfter(this.failures);
      this.failures += 1;
      // What it did not look at is not forgotten.
      this.lookIn(waitMs, woken);
    }
  }

  private isDue({ id, inMs }: OpenReplay, woken: boolean): boolean {
    if ((this.failing.get(id)?.until ?? 0) > performance.now()) return false;
    return inMs === null ? woken : inMs <= 0;
  }

  /** One that fails holds up no other. @returns false: somebody else is at it */
  private async tryStep(id: number, woken: boolean): Promise<boolean> {
    try {
      const taken = await this.step(id, woken);
      this.failing.delete(id);
      return taken;
    } catch (error) {
      const failures = this.failing.get(id)?.failures ?? 0;
      const until = performance.now() + retryAfter(failures);
      this.failing.set(id, { failures: failures + 1, until });
      const line = { event: 'replay.failed', replay_id: id, ...describeError(error) };
      this.logger.warn(line, 'A step of a replay failed; it is taken again');
      return true;
    }
  }

  /** One that sleeps, and whose step failed, is due when that may be tried again. */
  private lookAgain(replays: readonly OpenReplay[]): void {
    const open = new Set(replays.map(({ id }) => id));
    for (const id of this.failing.keys()) if (!open.has(id)) this.failing.delete(id);
    const now = performance.now();
    const waits = replays.flatMap(({ id, inMs }) => {
      const retry = this.failing.get(id);
      if (retry !== undefined) return [Math.max(inMs ?? 0, retry.until - now)];
      return inMs === null ? [] : [inMs];
    });
    if (waits.length > 0) {
      this.lookIn(Math.max(LEAST_WAIT_MS, Math.min(...waits)), this.failing.size > 0);
    }
  }

  private async step(id: number, woken: boolean): Promise<boolean> {
    const startedAt = performance.now();
    const step = await stepReplay(this.sql, id, woken);
    if (step === null) return false;
    if (step.queued > 0) this.delivery.wake();
    const { hookId, queued, delivered, dead, cancelled, skipped, pending, ended } = step;
    const changed = queued + delivered + dead + cancelled + skipped > 0 || ended;
    this.logger[changed ? 'info' : 'debug']({
      ...{ event: 'replay.stepped', replay_id: id, hook_id: hookId },
      ...{ queued, delivered, dead, cancelled, skipped, pending, ended },
      ms: Math.round(performance.now() - startedAt),
    });
    return true;
  }

  private lookIn(delayMs: number, woken = false): void {
    if (this.stopped) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      if (woken) this.woken = true;
      this.look();
    }, delayMs);
  }
}

function retryAfter(failures: number): number {
  return Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** failures);
}
