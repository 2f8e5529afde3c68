import { areCancellationsLeft, finishCancellations } from '@ghost/operations';
import { type Queue, type Sql, sqlOfPool } from '@ghost/queue';
import type { Pool } from '@ghost/db';
import type { OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common';
import type { Logger } from 'pino';

import { BackgroundRun } from '../background-run.js';
import type { DatabaseConnection } from '../database/tokens.js';
import { describeError } from '../describe-error.js';

/** Where another process is at it: it may end before it saw what was just deleted. */
const BUSY_AGAIN_MS = 5_000;
const FAILED_AGAIN_MS = 60_000;
/** A process that died may have left something: how often a busy one looks. */
const LOOK_EVERY_MS = 60_000;

export interface CancellingParts {
  pool: Pool;
  queue: Queue;
  connection: Pick<DatabaseConnection, 'listenUrl'>;
  logger: Logger;
  /** Monotonic, in milliseconds. */
  now: () => number;
}

/**
 * Cancels behind a deletion what was pending of the hook or repository. It is woken by the deletion, looks once at the start,
 * and at most once a minute while something is fanned out. A timer runs only while it knows of something left.
 */
export class CancellingService implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly sql: Sql;
  private readonly run = new BackgroundRun();
  private again: NodeJS.Timeout | undefined;
  private rerun = false;
  private lookedAt = Number.NEGATIVE_INFINITY;

  constructor(private readonly parts: CancellingParts) {
    this.sql = sqlOfPool(parts.pool);
  }

  onApplicationBootstrap(): void {
    this.wake();
  }

  /** Something was deleted. Never rejects, and nobody waits for it. */
  wake(): void {
    if (this.run.isStopping) return;
    // What was deleted just now may be behind the last look of the run under way.
    if (this.run.isUnderWay) {
      this.rerun = true;
      return;
    }
    clearTimeout(this.again);
    this.lookedAt = this.parts.now();
    void this.run.start((stopping) => this.finish(stopping)).then(() => this.wakeAgain());
  }

  /** Something was fanned out: a good time to see what a process that died has left. */
  worked(): void {
    if (!this.run.isUnderWay && this.parts.now() - this.lookedAt >= LOOK_EVERY_MS) {
      this.wake();
    }
  }

  async onApplicationShutdown(): Promise<void> {
    clearTimeout(this.again);
    await this.run.stop();
  }

  private wakeAgain(): void {
    if (!this.rerun) return;
    this.rerun = false;
    this.wake();
  }

  private async finish(signal: AbortSignal): Promise<void> {
    const { queue, connection, logger, now } = this.parts;
    const startedAt = now();
    try {
      if (!(await areCancellationsLeft(this.sql))) return;
      const run = await finishCancellations({
        queue,
        databaseUrl: connection.listenUrl,
        name: 'ghost api cancelling',
        signal,
      });
      if (run.result === 'busy') {
        this.wakeIn(BUSY_AGAIN_MS);
        return;
      }
      const ms = Math.round(now() - startedAt);
      logger.info({ event: 'cancelling.ended', ...run.counts, result: run.result, ms });
    } catch (error) {
      if (signal.aborted) return;
      logger.warn({ event: 'cancelling.failed', ...describeError(error) });
      this.wakeIn(FAILED_AGAIN_MS);
    }
  }

  private wakeIn(delayMs: number): void {
    if (this.run.isStopping) return;
    this.again = setTimeout(() => this.wake(), delayMs);
  }
}
