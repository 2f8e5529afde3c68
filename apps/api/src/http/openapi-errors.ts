import type { OpenAPIObject } from '@nestjs/swagger';

import type { DeclaredRoute } from './declared-routes.js';
import { headers, RATE_HEADERS } from './openapi-headers.js';

type Components = NonNullable<OpenAPIObject['components']>;
type Operation = NonNullable<OpenAPIObject['paths'][string]['get']>;
type Answer = Operation['responses'][string];

const CODE = { type: 'string', pattern: '^[a-z][a-z0-9_]*$' } as const;

export const ERROR_SCHEMAS: NonNullable<Components['schemas']> = {
  Error: {
    type: 'object',
    description: 'Every error has this shape.',
    properties: {
      message: { type: 'string', minLength: 1, description: 'A sentence for people.' },
      code: { ...CODE, description: 'Stable, for programs.' },
      errors: {
        type: 'array',
        minItems: 1,
        description: 'What is wrong with which field.',
        items: { $ref: '#/components/schemas/FieldError' },
      },
      request_id: {
        type: 'string',
        description: 'Of a fault of ours: finds its lines in the log.',
      },
    },
    required: ['message', 'code'],
    additionalProperties: false,
  },
  FieldError: {
    type: 'object',
    properties: {
      field: { type: 'string', description: 'Its path in the body or query: `config.url`.' },
      code: {
        ...CODE,
        description: '`missing_field`, `unknown_field`, `invalid`, `too_long`, `already_exists`, …',
      },
      message: { type: 'string', minLength: 1 },
    },
    required: ['field', 'code', 'message'],
    additionalProperties: false,
  },
};

const ANSWERS = {
  400: ['BadRequest', 'The request, its path or its body is malformed.'],
  401: ['Unauthorized', 'A token is needed, or the one that came is not valid.'],
  403: ['Forbidden', 'The token lacks the scope, or its account may not do this.'],
  404: ['NotFound', 'There is no such thing, or the asker may not see it.'],
  409: ['Conflict', 'It contradicts what is there.'],
  412: ['PreconditionFailed', 'It was changed since it was read: `If-Match` names what it was.'],
  413: ['BodyTooLarge', 'The body is larger than is allowed; the sentence says how large.'],
  415: ['UnsupportedMediaType', 'The body is no JSON in UTF-8, or is compressed.'],
  422: ['ValidationFailed', 'Fields are missing, malformed or unknown; `errors` names each.'],
  429: ['TooManyRequests', 'The rate limit is reached; `retry-after` says how long.'],
  500: ['InternalError', 'A fault of ours; tell the operator the `request_id`.'],
  503: ['Unavailable', 'The database does not answer; try again after `retry-after` seconds.'],
} as const;
type ErrorStatus = keyof typeof ANSWERS;

const EXTRA_HEADERS: Partial<Record<ErrorStatus, ReturnType<typeof headers>>> = {
  401: headers({ 'www-authenticate': 'Challenge' }),
  429: { ...RATE_HEADERS, ...headers({ 'retry-after': 'RetryAfter' }) },
  503: headers({ 'retry-after': 'RetryAfter' }),
};

export const SHARED_ANSWERS: NonNullable<Components['responses']> = {
  NotModified: {
    description: 'It is what the asker has: `If-None-Match` names it.',
    headers: headers({ 'x-request-id': 'RequestId', etag: 'ETag' }),
  },
  ...Object.fromEntries(
    Object.entries(ANSWERS).map(([status, [name, description]]) => [
      name,
      {
        description,
        headers: {
          ...headers({ 'x-request-id': 'RequestId' }),
          ...EXTRA_HEADERS[Number(status) as ErrorStatus],
        },
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      },
    ]),
  ),
};

/** Every answer of a route that is not the good one, by status. */
export function errorAnswers(route: DeclaredRoute, operation: Operation): Record<string, Answer> {
  const statuses = new Set<ErrorStatus>([400, 500, ...(route.errors ?? [])]);
  const hasPath = (operation.parameters ?? []).some(
    (parameter) => 'in' in parameter && parameter.in === 'path',
  );
  if (route.access.for !== 'public')
    for (const status of [401, 403, 422, 429, 503] as const) statuses.add(status);
  // Pages look up what their link names.
  if (route.media === 'text/html') statuses.add(503);
  if (hasPath) statuses.add(404);
  // A body is read, and may be refused, even where none is wanted.
  if (route.method !== 'GET') statuses.add(413).add(415);
  if (route.heedsIfMatch) statuses.add(412);
  const answers: Record<string, Answer> = {};
  if (route.method === 'GET' && route.answer !== null) {
    answers['304'] = { $ref: '#/components/responses/NotModified' };
  }
  for (const status of [...statuses].sort((a, b) => a - b)) {
    answers[status] = { $ref: `#/components/responses/${ANSWERS[status][0]}` };
  }
  if (route.media === 'text/html' && hasPath) {
    answers['404'] = {
      description: 'The link is unknown or no longer valid.',
      content: { 'text/html': { schema: { type: 'string' } } },
    };
  }
  if (route.unavailable === true) {
    const good = operation.responses[route.status];
    if (good !== undefined) answers['503'] = { ...good, description: 'It cannot work.' };
  }
  return answers;
}
