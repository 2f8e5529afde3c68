import { prune, type Pruned } from '@ghost/operations';
import type { Settings } from '@ghost/settings';
import type { OnApplicationShutdown } from '@nestjs/common';
import type { Logger } from 'pino';

import { BackgroundRun } from '../background-run.js';
import type { DatabaseConnection } from '../database/tokens.js';
import { describeError } from '../describe-error.js';

const DAY_MS = 24 * 60 * 60_000;
/** After one that failed, met another runner or could not drop a day. */
const AGAIN_MS = 60 * 60_000;

/**
 * Deletes what is older than GHOST_RETENTION_DAYS, once a UTC day, on a connection of its own. It has no timer: the
 * first fan-out of a day starts it, so where nothing happens nothing is asked.
 */
export class RetentionService implements OnApplicationShutdown {
  private readonly run = new BackgroundRun();
  private nextAt = 0;

  /** @param now - wall clock in milliseconds */
  constructor(
    private readonly connection: Pick<DatabaseConnection, 'listenUrl'>,
    private readonly settings: Pick<Settings, 'retentionDays'>,
    private readonly logger: Logger,
    private readonly now: () => number,
  ) {}

  /** Something was done just now: starts the run of the day, unless it was. Never rejects, and nobody waits for it. */
  worked(): void {
    if (this.run.isUnderWay || this.run.isStopping || this.now() < this.nextAt) return;
    void this.run.start((stopping) => this.prune(stopping));
  }

  async onApplicationShutdown(): Promise<void> {
    await this.run.stop();
  }

  private async prune(signal: AbortSignal): Promise<void> {
    const startedAt = performance.now();
    const now = this.now();
    const line = { days: this.settings.retentionDays };
    try {
      const pruned = await prune({
        databaseUrl: this.connection.listenUrl,
        name: 'ghost api retention',
        days: this.settings.retentionDays,
        signal,
      });
      this.nextAt = now + waitAfter(pruned, now);
      const ms = Math.round(performance.now() - startedAt);
      if (pruned.result === 'busy') this.logger.debug({ event: 'retention.busy', ...line, ms });
      else {
        const { counts, postponed, result } = pruned;
        this.logger.info({ event: 'retention.pruned', ...line, ...counts, postponed, result, ms });
      }
    } catch (error) {
      this.nextAt = now + AGAIN_MS;
      this.logger.warn({ event: 'retention.failed', ...line, ...describeError(error) });
    }
  }
}

function waitAfter(pruned: Pruned, now: number): number {
  if (pruned.result === 'busy' || pruned.postponed) return AGAIN_MS;
  return DAY_MS - (now % DAY_MS);
}
