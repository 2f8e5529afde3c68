import type { Pool } from '@ghost/db';
import type { Queue } from '@ghost/queue';
import { Module } from '@nestjs/common';
import type { Logger } from 'pino';

import {
  DATABASE_CONNECTION,
  type DatabaseConnection,
  LOGGER,
  POOL,
  QUEUE,
} from '../database/tokens.js';
import { CancellingService } from './cancelling.service.js';

@Module({
  providers: [
    {
      provide: CancellingService,
      inject: [POOL, QUEUE, DATABASE_CONNECTION, LOGGER],
      useFactory: (pool: Pool, queue: Queue, connection: DatabaseConnection, logger: Logger) =>
        new CancellingService({ pool, queue, connection, logger, now: () => performance.now() }),
    },
  ],
  exports: [CancellingService],
})
export class CancellingModule {}
