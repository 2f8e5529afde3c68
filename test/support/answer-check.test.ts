import { describe, expect, test } from 'vitest';

import { answerCheck } from './answer-check.js';

const check = answerCheck({
  paths: {
    '/api/things/{id}': {
      get: {
        responses: {
          '200': {
            content: { 'application/json': { schema: { $ref: '#/components/schemas/Thing' } } },
          },
          '404': { $ref: '#/components/responses/NotFound' },
        },
      },
      delete: { responses: { '204': {} } },
    },
    '/api/things/first': {
      get: { responses: { '200': { content: { 'text/html': { schema: { type: 'string' } } } } } },
      put: {
        responses: {
          '204': { headers: { etag: { $ref: '#/components/headers/Tag' }, link: {} } },
        },
      },
    },
  },
  components: {
    headers: { Tag: { required: true } },
    responses: {
      NotFound: {
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      },
    },
    schemas: {
      Error: { type: 'object', properties: { message: { type: 'string' } }, required: ['message'] },
      Thing: {
        type: 'object',
        properties: { id: { type: 'integer' }, at: { type: 'string', format: 'date-time' } },
        required: ['id'],
        additionalProperties: false,
      },
    },
  },
} as never);

const answer = (status: number, body?: unknown, type = 'application/json') => ({
  status,
  headers: new Headers(body === undefined ? {} : { 'content-type': `${type}; charset=utf-8` }),
  text: body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body),
});

test.each([
  ['GET', '/api/things/1?a=b', answer(200, { id: 1, at: '2026-01-01T00:00:00Z' })],
  ['HEAD', '/api/things/1', answer(200)],
  ['GET', '/api/things/1', answer(404, { message: 'Not Found' })],
  ['GET', '/api/things/first', answer(200, '<!doctype html>', 'text/html')],
  ['DELETE', '/api/things/1', answer(204)],
  ['PUT', '/api/things/first', { ...answer(204), headers: new Headers({ etag: '"a"' }) }],
  ['PUT', '/api/things/1', answer(405, { message: 'No.' })],
  ['OPTIONS', '/api/things/1', answer(204)],
  ['GET', '/api/nothing', answer(404, { message: 'Not Found' })],
])('%s %s is as declared', (method, path, given) => {
  expect(() => check(method, path, given)).not.toThrow();
});

describe('what the document does not declare is told', () => {
  test.each([
    ['a status', 'GET', '/api/things/1', answer(409, { message: 'x' }), /409.*\(200, 404\)/u],
    ['a field', 'GET', '/api/things/1', answer(200, { id: 1, b: 1 }), /additional properties/u],
    ['a field of another type', 'GET', '/api/things/1', answer(200, { id: '1' }), /answer\/id/u],
    ['a missing field', 'GET', '/api/things/1', answer(200, {}), /'id'/u],
    ['a bad time', 'GET', '/api/things/1', answer(200, { id: 1, at: 'now' }), /date-time/u],
    ['an error of another shape', 'GET', '/api/things/1', answer(404, {}), /'message'/u],
    ['a body', 'DELETE', '/api/things/1', answer(204, { id: 1 }), /declares none/u],
    ['no header that it promises', 'PUT', '/api/things/first', answer(204), /without .* etag/u],
    ['JSON for a page', 'GET', '/api/things/first', answer(200, {}), /not text\/html/u],
    ['a route', 'GET', '/api/nothing', answer(200, {}), /no such route/u],
    ['another shape of what has no route', 'GET', '/api/nothing', answer(404, {}), /'message'/u],
  ])('%s', (_name, method, path, given, says) => {
    expect(() => check(method, path, given)).toThrow(says);
  });
});
