import { once } from 'node:events';
import { connect } from 'node:net';
import { Writable } from 'node:stream';

import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance } from 'fastify';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

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
const lines: string[] = [];
const log = new Writable({
  write(chunk, _encoding, done) {
    lines.push(String(chunk));
    done();
  },
});

beforeAll(async () => {
  api = await startTestApi({
    logger: pino({ level: 'info' }, log),
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
    expect(open.sort()).toEqual([
      'GET /api/unsubscribe/:token',
      'GET /healthz',
      'GET /metrics',
      'GET /readyz',
      'POST /api/unsubscribe/:token',
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
    ['null', 'null', 422, 'validation_failed'],
    ['nothing', '', 422, 'validation_failed'],
    [
      'a list of 200,000 lists',
      `${'['.repeat(200_000)}${']'.repeat(200_000)}`,
      400,
      'not_an_object',
    ],
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

  test('JSON under another name, and bytes that are no UTF-8, are taken', async () => {
    const bytes = new Uint8Array(Buffer.from('{"name":"vendor","description":"a\xe9b"}', 'latin1'));
    const answer = await post(bytes, 'application/vnd.github+json; charset=utf-8');
    expect(answer.status).toBe(201);
    expect(answer.body.description).toBe('a\uFFFDb');
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
    ['another method', 'PATCH', '/api/user'],
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

  test('a path that cannot be decoded is a 400 in the same shape', async () => {
    const socket = connect(Number(new URL(api.url).port), '127.0.0.1');
    socket.end('GET /api/repos/%/x HTTP/1.1\r\nhost: ghost\r\nconnection: close\r\n\r\n');
    let text = '';
    socket.on('data', (chunk) => {
      text += String(chunk);
    });
    await once(socket, 'close');
    expect(text).toMatch(/^HTTP\/1\.1 400 /u);
    expect(text).toContain('"code":"bad_request"');
  });
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
  await ada.ask('GET', '/repos/ada/engine?secret=1');
  const line = lines
    .map((text) => JSON.parse(text))
    .findLast((found) => found.event === 'api.request');
  expect(line).toMatchObject({
    method: 'GET',
    route: '/api/repos/:owner/:repo',
    status: 200,
    accountId: ada.id,
    ms: expect.any(Number),
    requestId: expect.any(String),
  });
  expect(lines.join('')).not.toContain(ada.token);
});
