import type { Settings } from '@ghost/settings';
import { Module } from '@nestjs/common';
import type { Logger } from 'pino';

import {
  DATABASE_CONNECTION,
  type DatabaseConnection,
  LOGGER,
  SETTINGS,
} from '../database/tokens.js';
import { RetentionService } from './retention.service.js';

@Module({
  providers: [
    {
      provide: RetentionService,
      inject: [DATABASE_CONNECTION, SETTINGS, LOGGER],
      useFactory: (connection: DatabaseConnection, settings: Settings, logger: Logger) =>
        new RetentionService(connection, settings, logger, () => Date.now()),
    },
  ],
  exports: [RetentionService],
})
export class RetentionModule {}
