import { maxHeaderSize, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

import type { RawServerDefault } from 'fastify';
import type { Logger } from 'pino';

import type { MetricsService } from '../status/metrics.service.js';
import { SECURITY_HEADERS } from './security-headers.js';

type ConnectionFault = Error & { code?: string };
interface Refusal {
  status: 400 | 405 | 408 | 431 | 413;
  code: string;
  message: string;
  headers?: Readonly<Record<string, string>>;
}

const BAD_REQUEST: Refusal = {
  status: 400,
  code: 'bad_request',
  message: 'The bytes that came are no HTTP/1.1 request.',
};
const BAD_LENGTH: Refusal = {
  ...BAD_REQUEST,
  message: 'The content-length is wrong, or contradicts the transfer-encoding.',
};
const REFUSALS: Readonly<Record<string, Refusal>> = {
  HPE_HEADER_OVERFLOW: {
    status: 431,
    code: 'headers_too_large',
    message: `Path and headers are larger together than ${maxHeaderSize} bytes.`,
  },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: {
    status: 413,
    code: 'body_too_large',
    message: 'The extensions of a chunk are too large.',
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: 408,
    code: 'request_timeout',
    message: 'The request did not come whole in time.',
  },
  HPE_INVALID_VERSION: { ...BAD_REQUEST, message: 'Only HTTP/1.1 and 1.0 are spoken here.' },
  HPE_PAUSED_H2_UPGRADE: {
    ...BAD_REQUEST,
    message: 'HTTP/2 is not spoken here: send HTTP/1.1.',
  },
  HPE_INVALID_CONTENT_LENGTH: BAD_LENGTH,
  HPE_UNEXPECTED_CONTENT_LENGTH: BAD_LENGTH,
};
const NO_TUNNEL: Refusal = {
  status: 405,
  code: 'method_not_allowed',
  message: 'CONNECT is not possible here: this is no proxy.',
  headers: { allow: 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS' },
};

/**
 * Answers what Node's parser refuses, in the shape of every error, and closes the connection. Such
 * bytes cost their sender nothing, so they are counted, and logged for debugging only.
 */
export function parserFaultHandler(logger: Logger, metrics: () => MetricsService) {
  return (error: ConnectionFault, socket: Socket): void => {
    // Node's own, until the answer's end.
    const answering = Reflect.get(socket, '_httpMessage') as { headersSent?: boolean } | undefined;
    // A client that went away, or an answer under way: nobody could tell the two answers apart.
    if (error.code === 'ECONNRESET' || !socket.writable || answering?.headersSent === true) {
      socket.destroy();
      return;
    }
    const refusal = REFUSALS[error.code ?? ''] ?? BAD_REQUEST;
    metrics().countRefusal(refusal.status);
    logger.debug({ event: 'api.parser_fault', status: refusal.status, code: error.code });
    socket.end(answerText(refusal), () => socket.destroy());
  };
}

/** Refuses CONNECT: this is no proxy. Without a listener Node would close the connection without a word. */
export function refuseTunnels(server: RawServerDefault, metrics: MetricsService): void {
  server.on('connect', (_request, socket: Duplex) => {
    socket.on('error', () => socket.destroy());
    metrics.countRefusal(NO_TUNNEL.status);
    socket.end(answerText(NO_TUNNEL), () => socket.destroy());
  });
}

/** Answers an `Expect` that is not known, which Node would answer without a word. */
export function refuseExpectations(server: RawServerDefault, metrics: MetricsService): void {
  server.on('checkExpectation', (_request, response) => {
    metrics.countRefusal(417);
    const body = JSON.stringify({
      message: 'The header "expect" may only say 100-continue.',
      code: 'expectation_failed',
    });
    response.writeHead(417, { ...ANSWER_HEADERS, connection: 'close' }).end(body);
  });
}

const ANSWER_HEADERS = {
  ...SECURITY_HEADERS,
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'no-store',
} as const;

function answerText({ status, code, message, headers = {} }: Refusal): string {
  const body = JSON.stringify({ message, code });
  const lines = Object.entries({
    ...ANSWER_HEADERS,
    ...headers,
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  }).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, '', body].join('\r\n');
}
