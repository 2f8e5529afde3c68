import type { FastifyInstance, FastifyRequest } from 'fastify';

import { type FieldError, MAX_FIELD_ERRORS, validationFailed } from './api-error.js';
import type { DeclaredRoute } from './declared-routes.js';
import { routeIdOf } from './route.js';

/**
 * A route that takes no query or no body refuses one as strictly as those that do refuse an unknown field: what
 * is misspelt, or sent to the wrong route, must not seem to have worked. Public routes are for links,
 * probes and forms, and look at neither.
 */
export function refuseUnexpected(
  server: FastifyInstance,
  routes: ReadonlyMap<string, DeclaredRoute>,
): void {
  server.addHook('preHandler', (request, _reply, done) => {
    const route = routes.get(routeIdOf(request) ?? '');
    if (route === undefined || route.access.for === 'public') {
      done();
      return;
    }
    const errors = [
      ...(route.takesQuery ? [] : unknownOf(request.query, 'There is no such query parameter.')),
      ...(route.takesBody ? [] : unknownOf(bodyOf(request), 'This route takes no body.')),
    ];
    done(errors.length === 0 ? undefined : validationFailed(errors));
  });
}

function bodyOf({ body }: FastifyRequest): unknown {
  return typeof body === 'object' || body === undefined ? body : { body };
}

function unknownOf(given: unknown, message: string): FieldError[] {
  if (typeof given !== 'object' || given === null) return [];
  return Object.keys(given)
    .slice(0, MAX_FIELD_ERRORS)
    .map((field) => ({ field, code: 'unknown_field', message }));
}
