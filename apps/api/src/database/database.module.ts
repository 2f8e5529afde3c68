import { createDatabase, type Pool } from '@ghost/db';
import { createPostgresQueue } from '@ghost/queue';
import type { Settings } from '@ghost/settings';
import { type DynamicModule, Module } from '@nestjs/common';
import type { Logger } from 'pino';

import {
  DATABASE,
  DATABASE_CONNECTION,
  type DatabaseConnection,
  LOGGER,
  POOL,
  QUEUE,
  SETTINGS,
} from './tokens.js';

/** What the composition root makes, and ends, by itself. */
export interface Resources {
  settings: Settings;
  logger: Logger;
  pool: Pool;
}

/** Gives every module the database, the queue, the settings and the log. */
@Module({})
export class DatabaseModule {
  static forRoot({ settings, logger, pool }: Resources): DynamicModule {
    const connection: DatabaseConnection = {
      listenUrl: settings.listenDatabaseUrl,
      heartbeatMs: settings.heartbeatMs,
    };
    const providers = [
      { provide: SETTINGS, useValue: settings },
      { provide: LOGGER, useValue: logger },
      { provide: POOL, useValue: pool },
      { provide: DATABASE, useValue: createDatabase(pool) },
      { provide: DATABASE_CONNECTION, useValue: connection },
      { provide: QUEUE, useValue: createPostgresQueue({ pool }) },
    ];
    return {
      module: DatabaseModule,
      global: true,
      providers,
      exports: providers.map((p) => p.provide),
    };
  }
}
