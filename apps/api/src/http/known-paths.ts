import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

import { methodNotAllowed, notFound } from './api-error.js';
import { sendError } from './error-filter.js';

/** What is asked here without being a route: which methods there are. */
const OPTIONS = 'OPTIONS';

/** Which methods each path takes, by the routes that were declared. */
export class KnownPaths {
  // By the number of parts; a request that fits no route is compared with few of them.
  private readonly patterns = new Map<
    number,
    { parts: readonly string[]; methods: Set<string> }[]
  >();

  add(pattern: string, method: string): void {
    const parts = pattern.split('/');
    const sameLength = this.patterns.get(parts.length) ?? [];
    this.patterns.set(parts.length, sameLength);
    const known = sameLength.find((other) => other.parts.join('/') === pattern);
    if (known === undefined) sameLength.push({ parts, methods: new Set([method]) });
    else known.methods.add(method);
  }

  /** The methods that a path takes, sorted; none: there is no such path. */
  methodsOf(path: string): string[] {
    const given = path.split('/');
    const methods = new Set<string>();
    for (const { parts, methods: taken } of this.patterns.get(given.length) ?? []) {
      const fits = parts.every((part, at) =>
        part.startsWith(':') ? given[at] !== '' : part === given[at],
      );
      if (fits) for (const method of taken) methods.add(method);
    }
    return [...methods].sort();
  }
}

/**
 * Answers what fits no route before its body is read: 404, or 405 with `Allow` where the path takes
 * another method; OPTIONS gets `Allow` alone. To be called before the routes are declared.
 */
export function refuseUnknown(server: FastifyInstance): void {
  const known = new KnownPaths();
  server.addHook('onRoute', ({ method, url }) => {
    for (const one of [method].flat()) known.add(url, one);
  });
  server.addHook('onRequest', (request, reply, done) => {
    if (request.is404) refuse(request, reply, known);
    else done();
  });
}

function refuse(request: FastifyRequest, reply: FastifyReply, known: KnownPaths): void {
  const allowed = known.methodsOf(request.url.split('?', 1)[0] ?? '');
  if (allowed.length === 0) {
    sendError(reply, notFound());
    return;
  }
  const named = [...allowed, OPTIONS];
  if (request.method === OPTIONS) void reply.code(204).header('allow', named.join(', ')).send();
  else sendError(reply, methodNotAllowed(request.method, named));
}
