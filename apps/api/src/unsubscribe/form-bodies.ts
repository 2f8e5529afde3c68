import type { FastifyInstance } from 'fastify';

/** RFC 8058, section 3.2: `List-Unsubscribe=One-Click` comes in either of these. */
const FORM_TYPES = ['application/x-www-form-urlencoded', 'multipart/form-data'];
const MAX_FORM_BYTES = 4096;

/** A body type that the route does not take; Fastify answers with its status. */
class UnsupportedMediaTypeError extends Error {
  override readonly name = 'UnsupportedMediaTypeError';
  readonly statusCode = 415;
}

/**
 * Lets forms through to the routes below `pathPrefix`, unread: that the POST came is what counts.
 * Everywhere else a form is a 415, as before.
 */
export function acceptForms(server: FastifyInstance, pathPrefix: string): void {
  for (const type of FORM_TYPES) {
    if (server.hasContentTypeParser(type)) server.removeContentTypeParser(type);
    server.addContentTypeParser(
      type,
      { parseAs: 'buffer', bodyLimit: MAX_FORM_BYTES },
      (request, _body, done) => {
        if (request.url.startsWith(pathPrefix)) done(null, undefined);
        else done(new UnsupportedMediaTypeError(`${type} is not accepted here; send JSON.`));
      },
    );
  }
}
