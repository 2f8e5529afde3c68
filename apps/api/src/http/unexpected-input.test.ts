import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import {
  type Json,
  type Person,
  startTestApi,
  type TestApi,
} from '../../../../test/support/test-api.js';

let api: TestApi;
let ada: Person;
let operations: { method: string; path: string; hasQuery: boolean; hasBody: boolean }[];

beforeAll(async () => {
  api = await startTestApi();
  ada = await api.addPerson('ada');
  await ada.ask('POST', '/user/repos', { name: 'engine' });
  await ada.ask('POST', '/repos/ada/engine/threads', { title: 'One' });
  const document: Json = await (await fetch(`${api.url}/api/openapi.json`)).json();
  operations = Object.entries<Json>(document.paths).flatMap(([path, methods]) =>
    Object.entries<Json>(methods)
      .filter(([, operation]) => operation.security?.length > 0)
      .map(([method, operation]) => ({
        method: method.toUpperCase(),
        path: path
          .replace('/api', '')
          .replace('{owner}', 'ada')
          .replace('{repo}', 'engine')
          .replace('{username}', 'ada')
          .replaceAll(/\{\w+\}/gu, '1'),
        hasQuery: operation.parameters?.some((one: Json) => one.in === 'query') ?? false,
        hasBody: operation.requestBody !== undefined,
      })),
  );
});
afterAll(() => api.stop());

describe('what a route does not take', () => {
  test('a query parameter is a 422 that names it, on every route', async () => {
    expect(operations.length).toBeGreaterThan(40);
    for (const { method, path, hasBody } of operations) {
      const answer = await ada.ask(method, `${path}?bogus=1`, hasBody ? {} : undefined);
      expect.soft(`${method} ${path}: ${answer.status}`).toBe(`${method} ${path}: 422`);
      const named = (answer.body?.errors ?? []).map((error: Json) => error.field);
      expect.soft(named, `${method} ${path}`).toContain('bogus');
    }
  });

  test('a body is a 422 that names its fields, on every route without one', async () => {
    const without = operations.filter(({ method, hasBody }) => !hasBody && method !== 'GET');
    expect(without.length).toBeGreaterThan(5);
    for (const { method, path } of without) {
      const answer = await ada.ask(method, path, { bogus: 1 });
      expect.soft(answer, `${method} ${path}`).toMatchObject({
        status: 422,
        body: { errors: [{ field: 'bogus', code: 'unknown_field' }] },
      });
    }
    expect((await ada.ask('GET', '/repos/ada/engine')).status).toBe(200);
  });

  test('an empty one is none', async () => {
    const answer = await ada.ask('DELETE', '/repos/ada/engine/subscription?', {});
    expect(answer.status).toBe(204);
  });
});
