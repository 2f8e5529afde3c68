import type { Server } from 'node:http';
import { once } from 'node:events';
import { connect } from 'node:net';

import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { startTestApi, type TestApi } from '../../../../test/support/test-api.js';
import { waitUntil } from '../../../../test/support/wait-until.js';

const STALLED_MS = 500;
/** More than the kernels of both sides keep for a connection. */
const LARGE = Buffer.alloc(40_000_000, 'a');
const READ_PAUSE_MS = 4;

let api: TestApi;
let server: Server;
let usual: number;
beforeAll(async () => {
  api = await startTestApi({
    instrument: (instance) => {
      if (instance instanceof HttpAdapterHost) {
        server = instance.httpAdapter.getHttpServer();
        const fastify = instance.httpAdapter.getInstance() as FastifyInstance;
        // Declared as a route that anybody may call.
        const config = { id: 'get-health' } as object;
        fastify.get('/large', { config }, () => LARGE);
      }
      return instance;
    },
  });
  usual = server.timeout;
  server.timeout = STALLED_MS;
});
afterAll(() => api.stop());

function ask() {
  const socket = connect(Number(new URL(api.url).port), '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write('GET /large HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n');
  return socket;
}

const connections = () =>
  new Promise<number>((resolve, reject) => {
    server.getConnections((error, count) => (error === null ? resolve(count) : reject(error)));
  });

test('a minute without progress ends a connection', () => {
  expect(usual).toBe(60_000);
});

test('a client that does not read its answer is cut', async () => {
  const socket = ask();
  await waitUntil(async () => (await connections()) === 1, { what: 'the connection' });
  await waitUntil(async () => (await connections()) === 0, { what: 'the connection to be cut' });
  socket.destroy();
});

test('a client that reads slowly gets all of it', async () => {
  const socket = ask();
  const began = Date.now();
  let bytes = 0;
  socket.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    socket.pause();
    setTimeout(() => socket.resume(), READ_PAUSE_MS);
  });
  await once(socket, 'end');
  expect(Date.now() - began).toBeGreaterThan(3 * STALLED_MS);
  expect(bytes).toBeGreaterThan(LARGE.length);
});
