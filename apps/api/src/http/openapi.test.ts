import { readFileSync } from 'node:fs';

import { Validator } from '@seriousme/openapi-schema-validator';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import {
  type Json,
  PUBLIC_URL,
  startTestApi,
  type TestApi,
} from '../../../../test/support/test-api.js';

const CHECKED_IN = new URL('../../openapi.json', import.meta.url);

let api: TestApi;
let document: Json;
beforeAll(async () => {
  api = await startTestApi();
  document = await (await fetch(`${api.url}/api/openapi.json`)).json();
});
afterAll(() => api.stop());

interface Operation {
  name: string;
  template: string;
  is: Json;
}
const operations = (): Operation[] =>
  Object.entries<Json>(document.paths).flatMap(([template, item]) =>
    Object.entries<Json>(item).map(([method, is]) => ({
      name: `${method.toUpperCase()} ${template}`,
      template,
      is,
    })),
  );

test('the document is valid OpenAPI 3.1, and served to anyone', async () => {
  const { valid, errors } = await new Validator().validate(document);
  expect(errors ?? []).toEqual([]);
  expect(valid).toBe(true);
  expect(document.openapi).toBe('3.1.0');
});

test('the copy that is checked in is what is served: npm run openapi', () => {
  const checkedIn: Json = JSON.parse(readFileSync(CHECKED_IN, 'utf8'));
  expect(checkedIn.servers).toEqual([{ url: 'http://127.0.0.1:3000' }]);
  expect({ ...checkedIn, servers: document.servers }).toEqual(document);
});

test('it says what it is, where it is served and how to get in', () => {
  expect(document.info).toMatchObject({
    title: 'Ghost',
    description: expect.stringMatching(/.{200}/u),
  });
  expect(document.servers).toEqual([{ url: PUBLIC_URL }]);
  expect(document.components.securitySchemes.token).toMatchObject({
    type: 'http',
    scheme: 'bearer',
  });
  for (const tag of document.tags)
    expect([tag.name, tag.description]).toEqual([tag.name, expect.any(String)]);
});

test('each operation has an id of its own, a summary and a tag that is described', () => {
  const ids = operations().map(({ is }) => is.operationId);
  expect(new Set(ids).size).toBe(ids.length);
  const tags = document.tags.map(({ name }: Json) => name);
  for (const { name, is } of operations()) {
    expect(is.summary, name).toMatch(/^[A-Z].*\.$/u);
    expect(is.operationId, name).toMatch(/^[a-z]+(?:-[a-z]+)*$/u);
    expect(is.tags, name).toHaveLength(1);
    expect(tags, name).toContain(is.tags[0]);
  }
});

test('each operation says who may call it; what anyone may, also without a token', () => {
  const ways = (template: string, method: string) => document.paths[template][method].security;
  expect(ways('/api/user', 'get')).toEqual([{ token: [] }]);
  expect(ways('/api/repos/{owner}/{repo}', 'get')).toEqual([{ token: ['repo'] }, {}]);
  expect(ways('/api/repos/{owner}/{repo}/hooks', 'post')).toEqual([{ token: ['hooks'] }]);
  expect(ways('/api/repos/{owner}/{repo}', 'delete')).toEqual([{ token: ['admin'] }]);
  expect(ways('/healthz', 'get')).toEqual([]);
});

describe('every 4xx is declared', () => {
  test('all have the shape of every error', () => {
    for (const { name, is } of operations()) {
      for (const [status, answer] of Object.entries<Json>(is.responses)) {
        if (!/^[45]/u.test(status) || answer.content !== undefined) continue;
        expect(answer.$ref, `${name} ${status}`).toMatch(/^#\/components\/responses\//u);
        const shared = document.components.responses[answer.$ref.split('/').at(-1)];
        expect(shared.content['application/json'].schema).toEqual({
          $ref: '#/components/schemas/Error',
        });
      }
    }
  });

  test('by what an operation takes', () => {
    for (const { name, template, is } of operations()) {
      const has = (status: number) => is.responses[status] !== undefined;
      const guarded = is.security.length > 0;
      expect([401, 403, 429].every(has), name).toBe(guarded);
      if (template.includes('{')) expect(has(404), name).toBe(true);
      if (is.requestBody !== undefined) expect([400, 413, 415, 422].every(has), name).toBe(true);
      const inQuery = (is.parameters ?? []).some((parameter: Json) => parameter.in === 'query');
      if (inQuery) expect(has(422), name).toBe(true);
    }
  });
});

test('headers and parameters are declared where they work', () => {
  const edit = document.paths['/api/repos/{owner}/{repo}'].patch;
  expect(edit.parameters).toContainEqual({ $ref: '#/components/parameters/IfMatch' });
  expect(edit.responses[412]).toBeDefined();
  const list = document.paths['/api/repos/{owner}/{repo}/threads'].get;
  expect(list.parameters).toContainEqual({ $ref: '#/components/parameters/IfNoneMatch' });
  expect(list.parameters.map(({ name }: Json) => name)).toEqual(
    expect.arrayContaining(['per_page', 'after']),
  );
  expect(Object.keys(list.responses[200].headers)).toEqual(
    expect.arrayContaining(['etag', 'link', 'x-ratelimit-remaining', 'x-request-id']),
  );
  expect(list.responses[304]).toBeDefined();
});
