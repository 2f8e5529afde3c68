import type { AddressInfo } from 'node:net';

import { createPool, type Pool } from '@ghost/db';
import { checkCommit, checkDatabase, checkNewestSecrets, StartError } from '@ghost/operations';
import { sqlOfPool } from '@ghost/queue';
import { EXIT, type Settings } from '@ghost/settings';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { type Logger, pino } from 'pino';

import { createApp } from './create-app.js';
import { describeError } from './describe-error.js';
import { createShutdown } from './shutdown.js';

export interface ApiOptions {
  settings: Settings;
  /** Default: JSON lines on stdout at `settings.logLevel`. */
  logger?: Logger;
  /** Sees every provider that Nest makes and returns it, or a replacement; for tests. */
  instrument?: (instance: unknown) => unknown;
}

export interface RunningApi {
  /** Where it listens; with PORT 0, the port that was given. */
  url: string;
  /**
   * Stops accepting, finishes requests and pages of fan-out, closes the pool; idempotent.
   * @throws ShutdownError when that takes longer than `settings.shutdownGraceMs`
   */
  close(): Promise<void>;
}

/**
 * Starts the API: all that a process or a test needs but signals and the environment.
 * @throws StartError when something that it needs is missing; nothing is left running then
 */
export async function createApi(options: ApiOptions): Promise<RunningApi> {
  const { settings } = options;
  const logger = options.logger ?? pino({ level: settings.logLevel });
  await checkDatabase(settings.databaseUrl);
  const pool = createApiPool(settings, logger);
  let app: NestFastifyApplication | undefined;
  try {
    await checkCommit(pool, settings.databaseUrl);
    await checkNewestSecrets(sqlOfPool(pool), settings.keyRing);
    app = await createApp({
      settings,
      logger,
      pool,
      ...(options.instrument === undefined ? {} : { instrument: options.instrument }),
    });
    await listen(app, settings);
  } catch (error) {
    await app?.close();
    await pool.end();
    throw error;
  }
  const url = urlOf(app, settings.host);
  logger.info({ event: 'api.started', url, publicUrl: settings.publicUrl }, `Listening on ${url}`);
  return { url, close: createShutdown({ app, pool, logger, graceMs: settings.shutdownGraceMs }) };
}

function createApiPool(settings: Settings, logger: Logger): Pool {
  return createPool({
    connectionString: settings.databaseUrl,
    name: 'ghost api',
    max: settings.poolSize,
    onError: (error) =>
      logger.warn(
        { event: 'api.connection_lost', ...describeError(error) },
        'An idle connection was cut',
      ),
  });
}

async function listen(app: NestFastifyApplication, { host, port }: Settings): Promise<void> {
  try {
    await app.listen({ host, port });
  } catch (cause) {
    const code: unknown = cause instanceof Error ? Reflect.get(cause, 'code') : undefined;
    if (code === 'EADDRINUSE') {
      throw new StartError(
        EXIT.unavailable,
        `Port ${port} on ${host} is in use (HOST, PORT). Stop what uses it, or choose another PORT.`,
        { cause },
      );
    }
    if (typeof code === 'string') {
      throw new StartError(
        EXIT.config,
        `Cannot listen on port ${port} of ${host} (${code}). Correct HOST or PORT.`,
        { cause },
      );
    }
    throw cause;
  }
}

function urlOf(app: NestFastifyApplication, host: string): string {
  const { port } = app.getHttpServer().address() as AddressInfo;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
