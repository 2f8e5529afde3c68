import { afterAll, beforeAll, expect, test } from 'vitest';

import { readGithubSchema } from '../../../../test/support/github-schema.js';
import { startTestApi, type TestApi } from '../../../../test/support/test-api.js';

let testApi: TestApi;

beforeAll(async () => {
  testApi = await startTestApi();
});
afterAll(() => testApi.stop());

test.each<[string, string, number, unknown]>([
  ['GET', '/user', 200, undefined],
  ['GET', '/users/ann', 200, undefined],
  ['POST', '/user/emails', 201, { emails: ['ann@home.example'] }],
  ['GET', '/user/emails', 200, undefined],
  ['DELETE', '/user/emails', 204, { emails: ['ann@home.example'] }],
])('%s %s answers %i as GitHub does', async (method, path, status, body) => {
  token ??= (await testApi.addPerson('ann')).token;
  const response = await fetch(`${testApi.url}/api${path}`, {
    method,
    headers: { authorization: `token ${token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  expect(response.status).toBe(status);
  const contentType = response.headers.get('content-type');
  const text = await response.text();
  expect(readGithubSchema().compare({ method, path, status, contentType, text })).toEqual([]);
});

let token: string | undefined;
