import { areCancellationsLeft, finishCancellations } from '@ghost/operations';
import { type Queue, type Sql, sqlOfPool } from '@ghost/queue';
import type { Pool } from '@ghost/db';
import type { OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common';
import type { Logger } from 'pino';

import type { DatabaseConnection } from '../database/tokens.js';
import { describeError } from '../outbox/describe-error.js';

/** Where another process is at it: it may end before it saw what was just deleted. */
const BUSY_AGAIN_MS = 5_000;
const FAILED_AGAIN_MS = 60_000;
/** A process that died may have left something: how often a busy one looks. */
const LOOK_EVERY_MS = 60_000;
const GOODBYE_MS = 1_000;

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
  private readonly stopping = new AbortController();
  private running: Promise<void> | undefined;
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
    if (this.stopping.signal.aborted) return;
    // What was deleted just now may be behind the last look of the run under way.
    if (this.running) {
      this.rerun = true;
      return;
    }
    clearTimeout(this.again);
    this.lookedAt = this.parts.now();
    this.running = this.run().finally(() => {
      this.running = undefined;
      if (!this.rerun) return;
      this.rerun = false;
      this.wake();
    });
  }

  /** Something was fanned out: a good time to see what a process that died has left. */
  worked(): void {
    if (this.running === undefined && this.parts.now() - this.lookedAt >= LOOK_EVERY_MS) {
      this.wake();
    }
  }

  /** Ends after the step under way; another process, or the next start, goes on. */
  async onApplicationShutdown(): Promise<void> {
    this.stopping.abort();
    clearTimeout(this.again);
    if (this.running === undefined) return;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, GOODBYE_MS);
    });
    await Promise.race([this.running, late]);
    clearTimeout(timer);
  }

  private async run(): Promise<void> {
    const { queue, connection, logger, now } = this.parts;
    const startedAt = now();
    try {
      if (!(await areCancellationsLeft(this.sql))) return;
      const run = await finishCancellations({
        queue,
        databaseUrl: connection.listenUrl,
        name: 'ghost api cancelling',
        signal: this.stopping.signal,
      });
      if (run.result === 'busy') {
        this.wakeIn(BUSY_AGAIN_MS);
        return;
      }
      const ms = Math.round(now() - startedAt);
      logger.info({ event: 'cancelling.ended', ...run.counts, result: run.result, ms });
    } catch (error) {
      if (this.stopping.signal.aborted) return;
      logger.warn({ event: 'cancelling.failed', ...describeError(error) });
      this.wakeIn(FAILED_AGAIN_MS);
    }
  }

  private wakeIn(delayMs: number): void {
    if (this.stopping.signal.aborted) return;
    this.again = setTimeout(() => this.wake(), delayMs);
  }
}
