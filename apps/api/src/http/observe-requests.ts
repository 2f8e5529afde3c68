import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';

import { accountOf } from '../accounts/current-account.js';
import type { MetricsService } from '../status/metrics.service.js';

const TOO_MANY_REQUESTS = 429;
const UNMATCHED = 'none';
// Probes come every few seconds; their lines would bury the others.
const PROBES: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics']);

/** Gives each request an id that its answer names, and writes one line and one count for it. */
export function observeRequests(
  server: FastifyInstance,
  logger: Logger,
  metrics: MetricsService,
): void {
  server.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id);
    done();
  });
  server.addHook('onSend', (_request, reply, _payload, done) => {
    // While the server closes, a kept-alive connection would stay open after its last answer.
    if (!server.server.listening) reply.header('connection', 'close');
    done();
  });
  server.addHook('onResponse', (request, reply, done) => {
    // The pattern, as paths of links in mails carry tokens.
    const route = request.routeOptions.url ?? UNMATCHED;
    const { method } = request;
    const status = reply.statusCode;
    metrics.count({ method, route, status, seconds: reply.elapsedTime / 1000 });
    // Neither may a client that asks too often.
    const quiet = PROBES.has(route) || status === TOO_MANY_REQUESTS;
    logger[quiet ? 'debug' : 'info']({
      event: 'api.request',
      method,
      route,
      status,
      ms: Math.round(reply.elapsedTime * 10) / 10,
      requestId: request.id,
      accountId: accountOf(request)?.id,
    });
    done();
  });
}
