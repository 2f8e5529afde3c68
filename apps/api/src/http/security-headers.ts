import type { FastifyInstance, FastifyReply } from 'fastify';

// Nothing here is meant to be shown, framed or run in a browser; pages for people say what they need.
export const SECURITY_HEADERS = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
} as const;

export function secure(reply: FastifyReply): void {
  reply.headers(SECURITY_HEADERS);
}

/**
 * Puts these on every answer; and what nothing else was said of is stored by no cache, as a secret that
 * is shown once must not be, nor an error that will pass.
 */
export function secureAnswers(server: FastifyInstance): void {
  server.addHook('onRequest', (_request, reply, done) => {
    secure(reply);
    done();
  });
  server.addHook('onSend', (_request, reply, payload, done) => {
    if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store');
    done(null, payload);
  });
}
