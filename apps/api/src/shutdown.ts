import type { Pool } from '@ghost/db';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { Logger } from 'pino';

import { ShutdownError } from './shutdown-error.js';

/** Of the grace period: requests that are still open then are cut, so that the rest can end in order. */
const REQUESTS_SHARE = 0.5;

interface ShutdownParts {
  app: NestFastifyApplication;
  pool: Pool;
  logger: Logger;
  graceMs: number;
}

/**
 * Makes the orderly end of the API: no new connections, requests finished, pages of fan-out committed
 * (Nest's shutdown hooks), the pool closed. What is called again returns the same end.
 */
export function createShutdown(parts: ShutdownParts): () => Promise<void> {
  let ending: Promise<void> | undefined;
  let stage = 'requests that are not finished';
  return () => {
    ending ??= withinGrace(
      parts,
      () => stage,
      (next) => {
        stage = next;
      },
    );
    return ending;
  };
}

async function withinGrace(
  parts: ShutdownParts,
  stage: () => string,
  enter: (stage: string) => void,
): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      const message = `The end took longer than GHOST_SHUTDOWN_GRACE_MS (${parts.graceMs} ms); what did not end: ${stage()}.`;
      reject(new ShutdownError(message));
    }, parts.graceMs);
  });
  try {
    await Promise.race([end(parts, enter), tooLate]);
  } finally {
    clearTimeout(timer);
  }
}

async function end({ app, pool, logger, graceMs }: ShutdownParts, enter: (stage: string) => void) {
  const http = app.getHttpServer();
  const cut = setTimeout(() => {
    logger.warn({ event: 'api.requests_cut' }, 'Requests were not finished in time and are cut');
    http.closeAllConnections();
  }, graceMs * REQUESTS_SHARE);
  http.once('close', () => {
    clearTimeout(cut);
    enter('pages of fan-out that are under way');
  });
  await app.close();
  enter('connections to the database that are in use');
  await pool.end();
  logger.info({ event: 'api.stopped' });
}
