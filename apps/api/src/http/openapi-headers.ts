import type { OpenAPIObject } from '@nestjs/swagger';

import type { DeclaredRoute } from './declared-routes.js';
import { RATE_RESOURCES } from './rate-limits.js';

type Components = NonNullable<OpenAPIObject['components']>;
type Headers = NonNullable<Components['headers']>;

const COUNT = { type: 'integer', minimum: 0 } as const;

export const SHARED_HEADERS: Headers = {
  RequestId: {
    description: 'The id of the request, which finds its lines in the log.',
    required: true,
    schema: { type: 'string' },
  },
  ETag: {
    description: 'The strong tag of what the answer shows, for `If-Match` and `If-None-Match`.',
    required: true,
    schema: { type: 'string' },
  },
  Link: {
    description:
      'RFC 8288. `rel="next"` leads to what follows and is left out on the last page; `rel="first"` to the beginning.',
    schema: { type: 'string' },
  },
  Scopes: { description: 'The scopes of the token.', schema: { type: 'string' } },
  AcceptedScopes: {
    description: 'The scope that the route needs; empty: any token will do.',
    schema: { type: 'string' },
  },
  RateLimit: { description: 'Requests that are allowed in an hour.', schema: COUNT },
  RateRemaining: { description: 'Requests that are left of them.', schema: COUNT },
  RateUsed: { description: 'Requests that were counted.', schema: COUNT },
  RateReset: {
    description: 'When the count starts again, in seconds of Unix time.',
    schema: COUNT,
  },
  RateResource: {
    description: 'What is counted: requests, or tokens that are not valid.',
    schema: { type: 'string', enum: [...RATE_RESOURCES] },
  },
  RetryAfter: { description: 'Seconds after which to try again.', schema: COUNT },
  Challenge: { description: 'How to authenticate (RFC 6750).', schema: { type: 'string' } },
};

export const SHARED_PARAMETERS: NonNullable<Components['parameters']> = {
  IfMatch: {
    name: 'If-Match',
    in: 'header',
    description:
      'The `ETag` of what you read: if it was changed since, nothing is done and the answer is 412. `*` or none: do it anyway.',
    schema: { type: 'string' },
  },
  IfNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    description:
      'The `ETag` of what you have: if it is still that, the answer is 304 without a body.',
    schema: { type: 'string' },
  },
};

const TAGGED_METHODS: ReadonlySet<string> = new Set(['GET', 'PATCH', 'PUT']);

/** The headers of the answer when all is well. */
export function answerHeaders(route: DeclaredRoute): Headers {
  return {
    ...headers({ 'x-request-id': 'RequestId' }),
    ...(route.answer !== null && route.status === 200 && TAGGED_METHODS.has(route.method)
      ? headers({ etag: 'ETag' })
      : {}),
    ...(route.paged === true ? headers({ link: 'Link' }) : {}),
    ...(route.access.for === 'public' ? {} : RATE_HEADERS),
    ...(route.access.for === 'public'
      ? {}
      : headers({ 'x-oauth-scopes': 'Scopes', 'x-accepted-oauth-scopes': 'AcceptedScopes' })),
  };
}

export const RATE_HEADERS: Headers = headers({
  'x-ratelimit-limit': 'RateLimit',
  'x-ratelimit-remaining': 'RateRemaining',
  'x-ratelimit-used': 'RateUsed',
  'x-ratelimit-reset': 'RateReset',
  'x-ratelimit-resource': 'RateResource',
});

/** References to shared headers, by the name that each has in an answer. */
export function headers(names: Readonly<Record<string, string>>): Headers {
  return Object.fromEntries(
    Object.entries(names).map(([name, shared]) => [
      name,
      { $ref: `#/components/headers/${shared}` },
    ]),
  );
}
