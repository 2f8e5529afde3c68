import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { keptLog } from '../../../../test/support/kept-log.js';
import { startTcpProxy, type TcpProxy } from '../../../../test/support/tcp-proxy.js';
import {
  type Json,
  type Person,
  startTestApi,
  type TestApi,
} from '../../../../test/support/test-api.js';
import { waitUntil } from '../../../../test/support/wait-until.js';
import { RepositoriesService } from '../repositories/repositories.service.js';

const LEAK = 'SELECT * FROM account WHERE secret = hunter2';

let api: TestApi;
let ada: Person;
let proxy: TcpProxy;
let adapter: HttpAdapterHost | undefined;
const routes: { method: string; url: string }[] = [];
const { logger, lines } = keptLog();

beforeAll(async () => {
  api = await startTestApi({
    logger,
    databaseUrl: async (url) => {
      proxy = await startTcpProxy({ targetPort: Number(new URL(url).port) });
      return proxy.urlFor(url);
    },
    instrument: (instance) => {
      if (instance instanceof HttpAdapterHost) {
        adapter = instance;
        (instance.httpAdapter.getInstance() as FastifyInstance).addHook('onRoute', (route) => {
          for (const method of [route.method].flat()) routes.push({ method, url: route.url });
        });
      }
      if (instance instanceof RepositoriesService) {
        const find = instance.find.bind(instance);
        instance.find = (account, path) =>
          path.repo === 'broken' ? Promise.reject(new Error(LEAK)) : find(account, path);
      }
      return instance;
    },
  });
  ada = await api.addPerson('ada');
  await ada.ask('POST', '/user/repos', { name: 'engine' });
});
afterAll(async () => {
  await api.stop();
  await proxy.stop();
});

async function send(path: string, init: RequestInit = {}, token?: string) {
  const headers = new Headers(init.headers);
  if (token !== undefined) headers.set('authorization', `Bearer ${token}`);
  const response = await fetch(`${api.url}${path}`, { ...init, headers });
  const body: Json = await response.json();
  return { status: response.status, headers: response.headers, body };
}

describe('who asks', () => {
  test.each(['Bearer', 'bearer', 'token', 'TOKEN'])('"%s T" is understood', async (scheme) => {
    const { status, body } = await send('/api/user', {
      headers: { authorization: `${scheme} ${ada.token}` },
    });
    expect(status).toBe(200);
    expect(body).toMatchObject({ id: ada.id, login: 'ada', site_admin: false });
  });

  test('without a token the answer is a 401 that says so', async () => {
    const { status, headers, body } = await send('/api/user');
    expect(status).toBe(401);
    expect(headers.get('www-authenticate')).toMatch(/^Bearer/u);
    expect(body).toEqual({ message: 'Requires authentication', code: 'requires_authentication' });
  });

  test.each([
    ['an unknown token', 'Bearer ghs_0000000000000000000000000000000000000000'],
    ['an empty token', 'Bearer '],
    ['a password', 'Basic YWRhOmFkYQ=='],
    ['4,000 characters', `Bearer ${'x'.repeat(4000)}`],
    ['two words', 'token a b'],
  ])('%s is a 401', async (_name, authorization) => {
    const { status, body } = await send('/api/user', { headers: { authorization } });
    expect(status).toBe(401);
    expect(body).toEqual({ message: 'Bad credentials', code: 'bad_credentials' });
  });

  test('a revoked token is a 401 from the next request on', async () => {
    const zoe = await api.addPerson('zoe');
    expect((await zoe.ask('GET', '/user')).status).toBe(200);
    await api.pool.query('UPDATE api_token SET revoked_at = now() WHERE account_id = $1', [zoe.id]);
    expect((await zoe.ask('GET', '/user')).status).toBe(401);
  });

  test('every route asks for a token, but those that are meant for everybody', async () => {
    expect(adapter).toBeDefined();
    const asked = routes.filter(({ method }) => method !== 'HEAD' && method !== 'OPTIONS');
    expect(asked.length).toBeGreaterThan(15);
    const open: string[] = [];
    for (const { method, url } of asked) {
      const path = url.replaceAll(/:[a-z]+/gu, '1');
      const { status } = await fetch(`${api.url}${path}`, { method });
      if (status !== 401) open.push(`${method} ${url}`);
    }
    const { body } = await send('/api/openapi.json');
    // Where a token is a choice, nothing is shown that is not public: see the matrix of permissions.
    const choice = Object.entries<Json>(body.paths).flatMap(([path, item]) =>
      Object.entries<Json>(item)
        .filter(([, operation]) => operation.security.some((way: Json) => !('token' in way)))
        .map(([method]) => `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/gu, ':$1')}`),
    );
    expect(open.filter((route) => !choice.includes(route)).sort()).toEqual([
      'GET /api/openapi.json',
      'GET /api/unsubscribe/:token',
      'GET /api/verify-address/:token',
      'GET /healthz',
      'GET /metrics',
      'GET /readyz',
      // Signed: it has a secret of its own.
      'POST /api/mail/events',
      'POST /api/unsubscribe/:token',
      'POST /api/unsubscribe/:token/repository',
      'POST /api/verify-address/:token',
    ]);
  });
});

describe('bodies', () => {
  const post = (body: string | Uint8Array, contentType = 'application/json') =>
    send(
      '/api/user/repos',
      { method: 'POST', body, headers: { 'content-type': contentType } },
      ada.token,
    );

  test.each([
    ['no JSON', '{"name":', 400, 'bad_json'],
    ['a poisoned prototype', '{"name":"a","__proto__":{"private":true}}', 400, 'bad_json'],
    ['a list', '[1]', 400, 'not_an_object'],
    ['a text', '"engine"', 400, 'not_an_object'],
    ['two objects', '{"name":"a"}{"name":"b"}', 400, 'bad_json'],
    ['1 MiB of open lists', '['.repeat(1_048_576), 400, 'too_deep'],
    ['null', 'null', 422, 'validation_failed'],
    ['nothing', '', 422, 'validation_failed'],
    ['a list of 200,000 lists', `${'['.repeat(200_000)}${']'.repeat(200_000)}`, 400, 'too_deep'],
    ['more than 1 MiB', JSON.stringify({ name: 'a'.repeat(1_048_576) }), 413, 'body_too_large'],
  ])('%s is answered with a fitting error', async (_name, text, status, code) => {
    const answer = await post(text);
    expect(answer.status).toBe(status);
    expect(answer.body).toMatchObject({ code, message: expect.any(String) });
  });

  test.each(['application/x-www-form-urlencoded', 'text/plain', 'multipart/form-data; boundary=x'])(
    '%s is a 415 that says what to send',
    async (contentType) => {
      const answer = await post('{"name":"form"}', contentType);
      expect(answer.status).toBe(415);
      expect(answer.body).toMatchObject({ code: 'unsupported_media_type' });
      expect(answer.body.message).toContain('application/json');
    },
  );

  test('JSON under another name is taken', async () => {
    const answer = await post('{"name":"vendor"}', 'application/vnd.github+json; charset=UTF-8');
    expect(answer.status).toBe(201);
  });

  test('bytes that are no UTF-8 are a 400, not a text that nobody wrote', async () => {
    const bytes = new Uint8Array(Buffer.from('{"name":"vendor","description":"a\xe9b"}', 'latin1'));
    const answer = await post(bytes);
    expect(answer.status).toBe(400);
    expect(answer.body.code).toBe('bad_encoding');
  });

  test.each([
    ['another charset', { 'content-type': 'application/json; charset=iso-8859-1' }, /UTF-8/u],
    ['UTF-16', { 'content-type': 'application/json;charset="utf-16le"' }, /UTF-8/u],
    ['gzip', { 'content-encoding': 'gzip' }, /content-encoding/u],
    ['several encodings', { 'content-encoding': 'gzip, identity' }, /content-encoding/u],
  ])('%s is a 415', async (_name, given: Record<string, string>, says) => {
    const headers = { 'content-type': 'application/json', ...given };
    const init = { method: 'POST', body: '{"name":"other"}', headers };
    const { status, body } = await send('/api/user/repos', init, ada.token);
    expect(status).toBe(415);
    expect(body).toMatchObject({
      code: 'unsupported_media_type',
      message: expect.stringMatching(says),
    });
  });

  test('a form that is too large is told the bound of its route', async () => {
    const init = { method: 'POST', body: new URLSearchParams({ a: 'a'.repeat(5000) }) };
    const { status, body } = await send('/api/unsubscribe/x', init);
    expect(status).toBe(413);
    expect(body.message).toContain('4096 bytes');
    const json = await send('/api/user/repos', init, ada.token);
    expect(json.status).toBe(415);
  });

  test('a hundred thousand unknown fields get a short answer', async () => {
    const fields = Array.from({ length: 50_000 }, (_, n) => [`f${n}`, 1]);
    const answer = await post(JSON.stringify(Object.fromEntries(fields)));
    expect(answer.status).toBe(422);
    expect(answer.body.errors).toHaveLength(20);
  });
});

describe('paths', () => {
  test.each([
    ['the root', 'GET', '/'],
    ['the prefix alone', 'GET', '/api'],
    ['an unknown route', 'GET', '/api/nothing'],
    ['a route without its prefix', 'GET', '/user'],
    ['NUL in a name', 'GET', '/api/repos/a%00b/engine'],
    ['a name of 290 characters', 'GET', `/api/repos/${'a'.repeat(290)}/engine`],
    ['a name of 2,000 characters', 'GET', `/api/repos/${'a'.repeat(2000)}/engine`],
  ])('%s is a 404 that tells nothing', async (_name, method, path) => {
    const { status, body } = await send(path, { method }, ada.token);
    expect({ status, body }).toEqual({
      status: 404,
      body: { message: 'Not Found', code: 'not_found' },
    });
  });

  test.each([
    ['PATCH', '/api/user', 'GET, HEAD, OPTIONS'],
    ['DELETE', '/api/user/repos', 'GET, HEAD, POST, OPTIONS'],
    ['POST', '/api/repos/ada/engine/subscription?a=b', 'DELETE, GET, HEAD, PUT, OPTIONS'],
    ['POST', '/healthz', 'GET, HEAD, OPTIONS'],
    ['PROPFIND', '/api/user', 'GET, HEAD, OPTIONS'],
  ])('%s %s is a 405 that says what is possible', async (method, path, allowed) => {
    const { status, headers, body } = await send(path, { method }, ada.token);
    expect(status).toBe(405);
    expect(headers.get('allow')).toBe(allowed);
    expect(body).toMatchObject({ code: 'method_not_allowed' });
    expect(body.message).toContain(method);
  });

  test('OPTIONS says what is possible, without a token; HEAD works where GET does', async () => {
    const options = await fetch(`${api.url}/api/user/repos`, { method: 'OPTIONS' });
    expect([options.status, options.headers.get('allow'), await options.text()]).toEqual([
      204,
      'GET, HEAD, POST, OPTIONS',
      '',
    ]);
    const headers = { authorization: `Bearer ${ada.token}` };
    const head = await fetch(`${api.url}/api/user`, { method: 'HEAD', headers });
    const get = await fetch(`${api.url}/api/user`, { headers });
    expect([head.status, await head.text()]).toEqual([200, '']);
    expect(head.headers.get('content-length')).toBe(get.headers.get('content-length'));
    expect(head.headers.get('etag')).toBe(get.headers.get('etag'));
  });

  test('what fits no route is refused before its body is looked at', async () => {
    const init = { method: 'POST', body: 'x', headers: { 'content-type': 'text/plain' } };
    expect((await send('/api/nothing', init)).status).toBe(404);
    expect((await send('/api/user', init)).status).toBe(405);
  });
});

test('no answer can be sniffed, framed or run, and what nothing else is said of is not stored', async () => {
  const answers = await Promise.all([
    send('/api/user', {}, ada.token),
    send('/api/user'),
    send('/api/nothing'),
    send('/api/openapi.json'),
    send('/healthz'),
    send(
      '/api/repos/ada/engine/hooks',
      {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ config: { url: 'https://hooks.example/x' } }),
      },
      ada.token,
    ),
  ]);
  for (const { headers } of answers) {
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(headers.get('x-frame-options')).toBe('DENY');
    expect(headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/u);
  }
  expect(answers.map(({ status, headers }) => [status, headers.get('cache-control')])).toEqual([
    [200, 'private, no-cache'],
    [401, 'no-store'],
    [404, 'no-store'],
    [200, 'private, no-cache'],
    [200, 'private, no-cache'],
    // A secret that was made is in it, once.
    [201, 'no-store'],
  ]);
});

describe('our own faults', () => {
  test('a failure is a 500 with an id that finds its line in the log, and tells nothing else', async () => {
    const answer = await ada.ask('GET', '/repos/ada/broken');
    expect(answer.status).toBe(500);
    const id = answer.headers.get('x-request-id');
    expect(answer.body).toEqual({
      code: 'internal_error',
      message: expect.stringContaining(String(id)),
      request_id: id,
    });
    const line = lines.find((found) => found.includes('api.failed') && found.includes(String(id)));
    expect(line).toContain(LEAK);
  });

  test('a comment stands in no log line when the database refuses it', async () => {
    await ada.ask('POST', '/repos/ada/engine/threads', { title: 'a' });
    await api.pool.query(
      'ALTER TABLE comment ADD CONSTRAINT planted CHECK (body = id::text) NOT VALID',
    );
    const path = '/repos/ada/engine/threads/1/comments';
    const answer = await ada.ask('POST', path, { body: 'a private remark' });
    await api.pool.query('ALTER TABLE comment DROP CONSTRAINT planted');
    expect(answer.status).toBe(500);
    expect(JSON.stringify(answer.body)).not.toMatch(/planted|comment|insert/iu);
    const id = String(answer.headers.get('x-request-id'));
    expect(lines.filter((line) => line.includes(id)).join('')).toMatch(/23514/u);
    expect(lines.join('')).not.toContain('a private remark');
  });

  test('while the database is away the answer is a 503 that says when to come back', async () => {
    await proxy.cut();
    const answer = await ada.ask('GET', '/user');
    expect(answer.status).toBe(503);
    expect(answer.headers.get('retry-after')).toMatch(/^\d+$/u);
    expect(answer.body).toMatchObject({ code: 'unavailable', request_id: expect.any(String) });
    const ready = await send('/readyz');
    expect(ready).toMatchObject({
      status: 503,
      body: { ready: false, database: 'down', listener: 'disconnected' },
    });
    expect((await send('/healthz')).status).toBe(200);
    const metrics = await (await fetch(`${api.url}/metrics`)).text();
    expect(metrics).not.toContain('ghost_outbox_pending{');
    expect(metrics).toContain(
      'ghost_api_requests_total{method="GET",route="/api/user",status="503"} 1',
    );

    await proxy.resume();
    await waitUntil(async () => (await ada.ask('GET', '/user')).status === 200, {
      what: 'the API to use the database again',
    });
  });
});

test('a connection that is cut inside a transaction fails that request and nothing else', async () => {
  await api.addPerson('bob');
  await ada.ask('PUT', '/repos/ada/engine/collaborators/bob');
  const other = await api.pool.connect();
  await other.query('BEGIN');
  await other.query(`SELECT FROM repository WHERE name = 'engine' FOR UPDATE`);
  const waiting = ada.ask('DELETE', '/repos/ada/engine/collaborators/bob');
  await api.pool.query('SELECT pg_terminate_backend($1)', [await api.waitUntilBlocked()]);
  expect((await waiting).status).toBe(503);
  await other.query('COMMIT');
  other.release();
  expect((await ada.ask('DELETE', '/repos/ada/engine/collaborators/bob')).status).toBe(204);
});

test('each request is one line with its route, and never its path or token', async () => {
  await ada.ask('GET', '/user/repos?visibility=private');
  const line = lines
    .map((text) => JSON.parse(text))
    .findLast((found) => found.event === 'api.request');
  expect(line).toMatchObject({
    method: 'GET',
    route: '/api/user/repos',
    status: 200,
    accountId: ada.id,
    ms: expect.any(Number),
    requestId: expect.any(String),
  });
  expect(lines.join('')).not.toContain(ada.token);
  expect(lines.join('')).not.toContain('visibility=');
});
