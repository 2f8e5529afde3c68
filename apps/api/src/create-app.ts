import 'reflect-metadata';

import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { uuidv7 } from 'uuidv7';

import { AppModule } from './app.module.js';
import type { Resources } from './database/database.module.js';
import { AccessGate, guardRoutes } from './http/access-gate.js';
import { trustsProxies } from './http/client-addresses.js';
import { declaredRoutes } from './http/declared-routes.js';
import { ApiDocument } from './http/document.controller.js';
import { tagAnswers } from './http/entity-tag.js';
import { ErrorFilter, refuseInRouter } from './http/error-filter.js';
import { acceptForms } from './http/form-body.js';
import { closeOnUnread, demandFraming } from './http/framing.js';
import { acceptJsonOnly, MAX_BODY_BYTES } from './http/json-body.js';
import { refuseUnknown } from './http/known-paths.js';
import { acceptMessages } from './http/message-body.js';
import { ListedInterceptor } from './http/listed.js';
import { nestLogger } from './http/nest-logger.js';
import { observeRequests } from './http/observe-requests.js';
import { parserFaultHandler, refuseExpectations, refuseTunnels } from './http/parser-faults.js';
import { prepareRateLimits } from './http/rate-limits.js';
import { secureAnswers } from './http/security-headers.js';
import { refuseUnexpected } from './http/unexpected-input.js';
import { ValidationPipe } from './http/validation-pipe.js';
import { MetricsService } from './status/metrics.service.js';

/** A request whose bytes trickle in is ended; a body of 1 MiB over a slow line fits. */
const REQUEST_TIMEOUT_MS = 60_000;
/** A client that reads nothing of its answer, or sends nothing, for that long holds memory for nothing; a slow one reads some. */
const STALLED_TIMEOUT_MS = 60_000;
const MAX_PATH_PART_CHARS = 300;
const PROBE_ROUTES = ['healthz', 'readyz', 'metrics'];

export interface AppParts extends Resources {
  /** Sees every provider that Nest makes and returns it, or a replacement; for tests. */
  instrument?: (instance: unknown) => unknown;
}

/** Puts the application together. Nothing runs and nothing is asked of the database before it listens. */
export async function createApp(parts: AppParts): Promise<NestFastifyApplication> {
  const { settings, logger, pool, instrument } = parts;
  const adapter = new FastifyAdapter({
    genReqId: () => uuidv7(),
    requestIdHeader: false,
    bodyLimit: MAX_BODY_BYTES,
    frameworkErrors: refuseInRouter,
    clientErrorHandler: parserFaultHandler(logger, () => app.get(MetricsService)),
    http: { requireHostHeader: false },
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionTimeout: STALLED_TIMEOUT_MS,
    ...(settings.trustedProxies.length === 0
      ? {}
      : { trustProxy: trustsProxies(settings.trustedProxies) }),
    routerOptions: { maxParamLength: MAX_PATH_PART_CHARS },
  });
  const app: NestFastifyApplication = await NestFactory.create<NestFastifyApplication>(
    AppModule.over({ settings, logger, pool }),
    adapter,
    {
      bodyParser: false,
      abortOnError: false,
      logger: nestLogger(logger),
      ...(instrument === undefined ? {} : { instrument: { instanceDecorator: instrument } }),
    },
  );
  try {
    await furnish(app, adapter, parts);
  } catch (error) {
    await app.close();
    throw error;
  }
  return app;
}

/** All that a request meets on its way to a handler and back. */
async function furnish(
  app: NestFastifyApplication,
  adapter: FastifyAdapter,
  { settings, logger }: AppParts,
): Promise<void> {
  const routes = declaredRoutes(app);
  const server = adapter.getInstance();
  const metrics = app.get(MetricsService);
  await prepareRateLimits(server);
  acceptJsonOnly(server);
  acceptForms(server);
  acceptMessages(server);
  tagAnswers(server);
  secureAnswers(server);
  observeRequests(server, logger, metrics);
  closeOnUnread(server);
  demandFraming(server);
  refuseUnknown(server);
  guardRoutes(server, app.get(AccessGate), routes);
  refuseUnexpected(server, routes);
  refuseExpectations(server.server, metrics);
  refuseTunnels(server.server, metrics);
  app.setGlobalPrefix('api', { exclude: PROBE_ROUTES });
  app.useGlobalInterceptors(new ListedInterceptor(settings));
  app.useGlobalPipes(new ValidationPipe());
  app.useGlobalFilters(new ErrorFilter(logger));
  app.get(ApiDocument).describes(app);
}
