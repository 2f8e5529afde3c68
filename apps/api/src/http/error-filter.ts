import { databaseErrorCode, isDatabaseOutage } from '@ghost/db';
import { parseUrl } from '@ghost/policy';
import {
  type ArgumentsHost,
  Catch,
  type ExceptionFilter,
  HttpException,
  Inject,
  Injectable,
} from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';

import { LOGGER } from '../database/tokens.js';
import { describeError } from '../describe-error.js';
import { ApiError, badRequest, bodyTooLarge, notFound, notJson } from './api-error.js';
import { isForm, MAX_FORM_BYTES } from './form-body.js';
import { MAX_BODY_BYTES } from './json-body.js';
import { takesForms } from './route.js';
import { secure } from './security-headers.js';

/** A restarted Postgres is back in about this time. */
const RETRY_AFTER_SECONDS = '5';
/** What `URL` would read as a host is a part of the path in `http:///path`. */
const NAMES_HOST = /^https?:\/\/[^/?#]/iu;
/** SQLSTATE: what the new row belongs to was deleted since the request found it. */
const FOREIGN_KEY_VIOLATION = '23503';

/** Answers every error in one shape; what is not the asker's fault is logged and tells nothing of the inside. */
@Catch()
@Injectable()
export class ErrorFilter implements ExceptionFilter {
  constructor(@Inject(LOGGER) private readonly logger: Logger) {}

  catch(thrown: unknown, host: ArgumentsHost): void {
    const request = host.switchToHttp().getRequest<FastifyRequest>();
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    const error = this.explain(thrown, request);
    if (reply.sent || reply.raw.headersSent) {
      reply.raw.destroy();
      return;
    }
    sendError(reply, error);
  }

  private explain(thrown: unknown, request: FastifyRequest): ApiError {
    if (thrown instanceof ApiError) return thrown;
    const status = statusOf(thrown);
    if (status !== undefined) return fromStatus(status, thrown, request);
    if (databaseErrorCode(thrown) === FOREIGN_KEY_VIOLATION) return notFound();
    const fields = {
      requestId: request.id,
      route: request.routeOptions.url,
      ...describeError(thrown),
    };
    if (isDatabaseOutage(thrown)) {
      this.logger.warn(
        { event: 'api.database_unavailable', ...fields },
        'The database did not answer',
      );
      return unavailable();
    }
    this.logger.error({ event: 'api.failed', ...fields }, 'A request failed');
    return new ApiError({
      status: 500,
      code: 'internal_error',
      message: `Something went wrong on our side. Tell the operator this request's id: ${request.id}`,
    });
  }
}

/** The one shape of every error. */
export function sendError(reply: FastifyReply, error: ApiError): void {
  void reply
    .status(error.status)
    .headers(error.headers)
    .send({
      message: error.message,
      code: error.code,
      ...(error.errors === undefined ? {} : { errors: error.errors }),
      ...(error.status >= 500 ? { request_id: reply.request.id } : {}),
    });
}

/**
 * What the router refuses before any hook sees it: a target that cannot be decoded or is no URL, or a part
 * of a path that is too long to name anything.
 */
export function refuseInRouter(thrown: Error, request: FastifyRequest, reply: FastifyReply): void {
  secure(reply);
  reply.headers({ 'x-request-id': request.id, 'cache-control': 'no-store', connection: 'close' });
  const tooLong = Reflect.get(thrown, 'code') === 'FST_ERR_MAX_PARAM_LENGTH';
  const target = request.raw.url ?? '';
  const badTarget =
    target.startsWith('/') || (NAMES_HOST.test(target) && parseUrl(target) !== null)
      ? badRequest('bad_path', 'The path cannot be decoded: a % is not followed by UTF-8.')
      : badRequest('bad_host', 'The request is for a URL whose host or port is none.');
  sendError(reply, tooLong ? notFound() : badTarget);
}

/** Nest's exceptions carry a status, and so do Fastify's; only those below 500 are the asker's. */
function statusOf(thrown: unknown): number | undefined {
  if (thrown instanceof HttpException) return thrown.getStatus();
  const status: unknown = thrown instanceof Error ? Reflect.get(thrown, 'statusCode') : undefined;
  return typeof status === 'number' && status >= 400 && status < 500 ? status : undefined;
}

function fromStatus(status: number, thrown: unknown, request: FastifyRequest): ApiError {
  switch (status) {
    case 400:
      return badRequest('bad_request', 'The request is malformed.');
    case 404:
      return notFound();
    case 413:
      return bodyTooLarge(boundOf(request));
    case 415:
      return notJson();
    case 503:
      return unavailable();
    default:
      return new ApiError({ status, code: 'refused', message: 'The request cannot be served.' });
  }
}

/** How large a body of this type may be on this route. */
function boundOf(request: FastifyRequest): number {
  const form = takesForms(request) && isForm(request.headers['content-type']);
  return form ? MAX_FORM_BYTES : MAX_BODY_BYTES;
}

function unavailable(): ApiError {
  return new ApiError({
    status: 503,
    code: 'unavailable',
    message: 'The service is not available for the moment. Try again soon.',
    headers: { 'retry-after': RETRY_AFTER_SECONDS },
  });
}
