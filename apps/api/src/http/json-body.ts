import type { FastifyInstance } from 'fastify';

import { badRequest } from './api-error.js';

/** Room for a comment of 65,536 characters of four bytes, each escaped in JSON (`\ud83d\ude00`), and its envelope. */
export const MAX_BODY_BYTES = 1_048_576;

const JSON_TYPES = /^application\/(?:[\w.-]+\+)?json(?:\s*;|$)/iu;

/** Bodies are JSON, also as `application/vnd.github+json`; anything else is a 415. No body at all is none, whatever its type says. */
export function acceptJsonOnly(server: FastifyInstance): void {
  server.removeAllContentTypeParsers();
  const parse = server.getDefaultJsonParser('error', 'error');
  server.addContentTypeParser(
    JSON_TYPES,
    { parseAs: 'buffer', bodyLimit: MAX_BODY_BYTES },
    (request, body, done) => {
      if (body.length === 0) {
        done(null, undefined);
        return;
      }
      void parse(request, body.toString('utf8'), (error, parsed) => {
        if (error) done(badRequest('bad_json', 'The body is not valid JSON.'));
        else done(null, parsed);
      });
    },
  );
}
