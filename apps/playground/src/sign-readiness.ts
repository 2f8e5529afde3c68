/*
 * Loaded into a child before its program (`node --import`). Signs what the child says of its readiness
 * with what only its parent knows, as another program may answer on the same port.
 */
import { subscribe } from 'node:diagnostics_channel';
import type { IncomingMessage, ServerResponse } from 'node:http';

import { READY_SIGNATURE_ENV, READY_SIGNATURE_HEADER } from './sign-readiness-names.js';

const READY_PATH = '/readyz';

const signature = process.env[READY_SIGNATURE_ENV];
delete process.env[READY_SIGNATURE_ENV];
if (signature !== undefined) {
  subscribe('http.server.request.start', (message) => {
    const { request, response } = message as { request: IncomingMessage; response: ServerResponse };
    if (request.url === READY_PATH) response.setHeader(READY_SIGNATURE_HEADER, signature);
  });
}
