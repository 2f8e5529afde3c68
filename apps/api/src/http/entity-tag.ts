import { hash } from 'node:crypto';

import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyInstance, FastifyRequest } from 'fastify';

import { ApiError, badRequest } from './api-error.js';

// 132 bits: two contents that share a tag by chance are out of reach.
const TAG_CHARACTERS = 22;
const MAX_TAGS = 20;
const TAG = /(?:W\/)?"[\x21\x23-\x7e]*"/gu;
const TAG_LIST = /^(?:(?:W\/)?"[\x21\x23-\x7e]*"[\t ]*(?:,[\t ]*|$))+$/u;
// What these answer is what a GET would answer. A POST may show a secret once, so it has no tag.
const TAGGED_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'PATCH', 'PUT']);

/** The strong entity tag (RFC 9110, 8.8.3) of an answer's JSON text. */
export function entityTag(json: string): string {
  return `"${hash('sha256', json, 'base64url').slice(0, TAG_CHARACTERS)}"`;
}

/** Tags every JSON answer, and turns one that the asker has already into a 304. */
export function tagAnswers(server: FastifyInstance): void {
  server.addHook('onSend', (request, reply, payload, done) => {
    const type = String(reply.getHeader('content-type') ?? '');
    if (
      reply.statusCode !== 200 ||
      typeof payload !== 'string' ||
      !type.startsWith('application/json') ||
      !TAGGED_METHODS.has(request.method)
    ) {
      done(null, payload);
      return;
    }
    // A route that knows better which changes count has set its own.
    const tag = String(reply.getHeader('etag') ?? entityTag(payload));
    // What one account sees is no other's: caches may keep it, and must ask again.
    if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'private, no-cache');
    reply.header('etag', tag).header('vary', 'authorization');
    const seen = request.headers['if-none-match'];
    const asks = request.method === 'GET' || request.method === 'HEAD';
    if (asks && seen !== undefined && matches(seen, tag, 'weak')) {
      reply.code(304).removeHeader('content-type').removeHeader('content-length');
      done(null, '');
      return;
    }
    done(null, payload);
  });
}

/**
 * Throws when the asker's `If-Match` does not name what is there now. To be called under the row's lock,
 * with exactly what a GET would answer.
 */
export type Precondition = (current: unknown) => void;

/** Makes what {@link IfMatch} injects; known by it, the routes that heed `If-Match` say so in the OpenAPI document. */
export function ifMatchOf(
  heeded: ((header: string) => string) | undefined,
  context: ExecutionContext,
): Precondition {
  const header = context.switchToHttp().getRequest<FastifyRequest>().headers['if-match'];
  return preconditionOf(header === undefined || heeded === undefined ? header : heeded(header));
}

/**
 * Injects the {@link Precondition} of the request; one without `If-Match` is always met. A route whose
 * tags tell of more than edits compete for gives a function that leaves the rest out of the header.
 */
export const IfMatch = createParamDecorator(ifMatchOf);

/** @throws ApiError 400 for a header that is no list of entity tags */
export function preconditionOf(header: string | undefined): Precondition {
  if (header === undefined) return () => undefined;
  if (header.trim() !== '*' && !TAG_LIST.test(header)) {
    throw badRequest('bad_if_match', 'If-Match must be "*" or entity tags in double quotes.');
  }
  return (current) => {
    if (matches(header, entityTag(JSON.stringify(current)), 'strong')) return;
    throw new ApiError({
      status: 412,
      code: 'precondition_failed',
      message: 'It was changed since you read it. Read it again, then repeat your change.',
    });
  };
}

/** RFC 9110, 13.1.1 and 13.1.2: If-Match compares strongly, If-None-Match weakly. */
function matches(header: string, tag: string, strength: 'strong' | 'weak'): boolean {
  if (header.trim() === '*') return true;
  const tags = (header.match(TAG) ?? []).slice(0, MAX_TAGS);
  return tags.some((given) =>
    strength === 'weak' ? given.replace(/^W\//u, '') === tag : given === tag,
  );
}
