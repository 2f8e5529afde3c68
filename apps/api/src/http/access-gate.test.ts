import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { type Person, startTestApi, type TestApi } from '../../../../test/support/test-api.js';
import { waitUntil } from '../../../../test/support/wait-until.js';

const MIB = 1_048_576;
const JSON_TYPE = 'content-type: application/json\r\n';

let api: TestApi;
let ada: Person;
let hooksOnly: string;
beforeAll(async () => {
  api = await startTestApi({
    env: { GHOST_RATE_LIMIT: '100', GHOST_RATE_LIMIT_ANONYMOUS: '100' },
    instrument: (instance) => {
      if (instance instanceof HttpAdapterHost) {
        const server = instance.httpAdapter.getInstance() as FastifyInstance;
        server.get('/api/undeclared', () => 'for all the world');
      }
      return instance;
    },
  });
  ada = await api.addPerson('ada');
  const made = await ada.ask('POST', '/user/tokens', { label: 'hooks', scopes: ['hooks'] });
  hooksOnly = made.body.token;
});
afterAll(() => api.stop());

const head = (lines: string) => `POST /api/user/repos HTTP/1.1\r\nhost: ghost\r\n${lines}\r\n`;
const bearer = (token: string) => `authorization: Bearer ${token}\r\n`;

/** A connection, and all that came back on it. */
function open(): { socket: Socket; text: () => string; answer: (n: number) => Promise<string> } {
  const socket = connect(Number(new URL(api.url).port), '127.0.0.1');
  let text = '';
  socket.on('data', (chunk) => {
    text += String(chunk);
  });
  socket.on('error', () => undefined);
  const answer = (n: number) =>
    waitUntil(() => text.split('HTTP/1.1 ').length > n && text.endsWith('}') && text, {
      what: `${n} answers`,
    });
  return { socket, text: () => text, answer };
}

describe('who may not ask is told before a byte of the body came', () => {
  test.each([
    ['nobody', () => '', 401, 'requires_authentication'],
    ['a bad token', () => bearer('bad'), 401, 'bad_credentials'],
    ['a token without the scope', () => bearer(hooksOnly), 403, 'missing_scope'],
  ])('%s', async (_name, who, status, code) => {
    const { socket, answer } = open();
    socket.write(head(`${who()}${JSON_TYPE}content-length: ${MIB}\r\n`));
    expect(await answer(1)).toMatch(new RegExp(`^HTTP/1\\.1 ${status} .*"code":"${code}"`, 'su'));
    socket.destroy();
  });

  test('and what cannot be parsed is not: it was never looked at', async () => {
    const body = '['.repeat(1000);
    const { socket, answer } = open();
    socket.write(`${head(`${JSON_TYPE}content-length: ${body.length}\r\n`)}${body}`);
    expect(await answer(1)).toMatch(/^HTTP\/1\.1 401 /u);
    socket.destroy();
  });
});

describe('the body of a request that was refused', () => {
  test('is no request, and the connection goes on behind it', async () => {
    const inner = 'GET /healthz HTTP/1.1\r\nhost: ghost\r\n\r\n';
    const { socket, text, answer } = open();
    socket.write(head(`${JSON_TYPE}content-length: ${inner.length * 2}\r\n`));
    await answer(1);
    expect(text()).not.toMatch(/connection: close/iu);
    socket.write(inner.repeat(2));
    socket.write('GET /api/user HTTP/1.1\r\nhost: ghost\r\n\r\n');
    const all = await answer(2);
    socket.end();
    await once(socket, 'close');
    expect(text()).toBe(all);
    expect(all.match(/HTTP\/1\.1 \d+/gu)).toEqual(['HTTP/1.1 401', 'HTTP/1.1 401']);
  });

  test.each([
    ['is longer than any that is taken', `content-length: ${MIB + 1}\r\n`],
    ['is of a length that nobody knows', 'transfer-encoding: chunked\r\n'],
  ])('ends the connection when it %s', async (_name, framing) => {
    const { socket, text } = open();
    socket.write(head(`${JSON_TYPE}${framing}`));
    await once(socket, 'close');
    expect(text()).toMatch(/^HTTP\/1\.1 401 .*connection: close/isu);
  });
});

test('a route that is not declared is refused', async () => {
  const answer = await fetch(`${api.url}/api/undeclared`);
  expect(answer.status).toBe(500);
  expect(await answer.text()).not.toContain('for all the world');
});
