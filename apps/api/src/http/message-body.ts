import type { FastifyInstance } from 'fastify';

import { unsupportedMediaType } from './api-error.js';
import { MAX_BODY_BYTES, takesBody } from './json-body.js';
import { takesMessages } from './route.js';

const MESSAGE_TYPE = 'message/rfc822';

/** Gives raw messages (RFC 5322) to the routes that take them, as bytes. Elsewhere one is a 415, and so is anything else there. */
export function acceptMessages(server: FastifyInstance): void {
  server.addHook('preParsing', (request, _reply, payload, done) => {
    const type = request.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase();
    const fits = takesMessages(request) === (type === MESSAGE_TYPE);
    if (fits || !takesBody(request)) done(null, payload);
    else done(wrongType(takesMessages(request)));
  });
  server.addContentTypeParser(
    MESSAGE_TYPE,
    { parseAs: 'buffer', bodyLimit: MAX_BODY_BYTES },
    (_request, body, done) => done(null, body),
  );
}

function wrongType(takes: boolean) {
  return unsupportedMediaType(
    takes
      ? `Send the raw message, with the header "content-type: ${MESSAGE_TYPE}".`
      : 'No message is taken here: send JSON, with the header "content-type: application/json".',
  );
}
