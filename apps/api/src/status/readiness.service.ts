import type { Pool } from '@ghost/db';
import { Inject, Injectable } from '@nestjs/common';

import { POOL } from '../database/tokens.js';
import { orAfter } from '../or-after.js';
import { OutboxService } from '../outbox/outbox.service.js';

/** A probe gives up sooner than the pool does. */
const DATABASE_TIMEOUT_MS = 2000;

export interface Readiness {
  ready: boolean;
  database: 'up' | 'down';
  listener: 'connected' | 'disconnected';
}

/** Whether the process can do its work: ask the database, hear of new events. */
@Injectable()
export class ReadinessService {
  constructor(
    @Inject(POOL) private readonly pool: Pool,
    @Inject(OutboxService) private readonly outbox: OutboxService,
  ) {}

  async check(): Promise<Readiness> {
    const up = await this.databaseAnswers();
    const connected = this.outbox.listening;
    return {
      ready: up && connected,
      database: up ? 'up' : 'down',
      listener: connected ? 'connected' : 'disconnected',
    };
  }

  private async databaseAnswers(): Promise<boolean> {
    const answer = this.pool.query('SELECT 1').then(
      () => true,
      () => false,
    );
    return orAfter(DATABASE_TIMEOUT_MS, answer, false);
  }
}
