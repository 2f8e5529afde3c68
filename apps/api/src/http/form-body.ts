import type { FastifyInstance } from 'fastify';

import { unsupportedMediaType } from './api-error.js';
import { takesBody } from './json-body.js';
import { takesForms } from './route.js';

/** RFC 8058, section 3.2: `List-Unsubscribe=One-Click` comes in either of these. */
const FORM_TYPES = ['application/x-www-form-urlencoded', 'multipart/form-data'];

/** Forms are for people's buttons and mail programs' one click; a few fields fit. */
export const MAX_FORM_BYTES = 4096;

export function isForm(contentType: string | undefined): boolean {
  return FORM_TYPES.includes(contentType?.split(';', 1)[0]?.trim().toLowerCase() ?? '');
}

/** Lets forms through to the routes that take them, unread: that the POST came is what counts. Elsewhere a form is a 415. */
export function acceptForms(server: FastifyInstance): void {
  server.addHook('preParsing', (request, _reply, payload, done) => {
    if (takesBody(request) && isForm(request.headers['content-type']) && !takesForms(request)) {
      done(
        unsupportedMediaType(
          'No form is taken here: send JSON, with the header "content-type: application/json".',
        ),
      );
    } else {
      done(null, payload);
    }
  });
  server.addContentTypeParser(
    FORM_TYPES,
    { parseAs: 'buffer', bodyLimit: MAX_FORM_BYTES },
    (_request, _body, done) => done(null, undefined),
  );
}
