import type { Socket } from 'node:net';

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

import { type ApiError, badRequest } from './api-error.js';
import { sendError } from './error-filter.js';
import { MAX_BODY_BYTES } from './json-body.js';

/**
 * Refuses requests of which a proxy in between could think that they end elsewhere or are for somebody
 * else, and closes their connection: what came behind them there is not served (RFC 9112, 3.2, 6.1, 11.2).
 */
export function demandFraming(server: FastifyInstance): void {
  const closing = new WeakSet<Socket>();
  server.addHook('onRequest', (request, reply, done) => {
    const { socket } = request.raw;
    if (closing.has(socket)) {
      // Its answer would come after the connection's last.
      reply.hijack();
      return;
    }
    const fault = framingFault(request);
    if (fault === null) {
      done();
      return;
    }
    closing.add(socket);
    reply.header('connection', 'close');
    sendError(reply, fault);
  });
}

function framingFault({ headers, raw }: FastifyRequest): ApiError | null {
  const coding = headers['transfer-encoding'];
  if (coding !== undefined && (raw.httpVersion !== '1.1' || coding.toLowerCase() !== 'chunked')) {
    return badRequest(
      'bad_transfer_encoding',
      'The only transfer-encoding is "chunked", and only in HTTP/1.1.',
    );
  }
  // Node would refuse its lack without a word.
  if (headers.host === undefined && raw.httpVersion === '1.1') {
    return badRequest('missing_host', 'The header "host" is missing.');
  }
  return null;
}

/**
 * Closes the connection after an answer to a request whose body was not read and is, or may be, longer than
 * any that is taken. What is shorter Node reads and throws away: an end in the midst of it can cost the
 * client the answer, such as when to come back (RFC 9112, 9.6).
 */
export function closeOnUnread(server: FastifyInstance): void {
  server.addHook('onSend', (request: FastifyRequest, reply: FastifyReply, payload, done) => {
    const { 'content-length': length, 'transfer-encoding': coding } = request.headers;
    const mayBeLong = coding !== undefined || Number(length ?? 0) > MAX_BODY_BYTES;
    if (mayBeLong && !request.raw.complete) reply.header('connection', 'close');
    done(null, payload);
  });
}
