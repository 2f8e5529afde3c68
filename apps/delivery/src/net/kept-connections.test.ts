import { once } from 'node:events';
import { connect } from 'node:net';

import { Client } from 'undici';
import { afterEach, expect, test } from 'vitest';

import { type RawServer, startRawServer } from '../../../../test/support/raw-server.js';
import { waitUntil } from '../../../../test/support/wait-until.js';
import { KeptConnections, openConnection } from './kept-connections.js';

let server: RawServer | undefined;
afterEach(async () => {
  await server?.stop();
  server = undefined;
});

async function connection() {
  server ??= await startRawServer(() => undefined);
  const socket = connect(server.port, '127.0.0.1');
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return openConnection(Client, `http://127.0.0.1:${server.port}`, socket);
}

test('hand out each connection once, the one used last first, only under its key', async () => {
  const kept = new KeptConnections();
  const [first, second] = [await connection(), await connection()];
  kept.keep('hook 1', first);
  kept.keep('hook 1', second);
  expect(kept.take('hook 2')).toBeUndefined();
  expect(kept.take('hook 1')).toBe(second);
  expect(kept.take('hook 1')).toBe(first);
  expect(kept.take('hook 1')).toBeUndefined();
  expect(first.reused).toBe(true);
  kept.keep('hook 1', first);
  kept.keep('hook 1', second);
  kept.closeAll();
  expect([first.socket.destroyed, second.socket.destroyed, kept.size]).toEqual([true, true, 0]);
});

test('forget what was closed meanwhile', async () => {
  const kept = new KeptConnections();
  const one = await connection();
  kept.keep('hook 1', one);
  one.socket.destroy();
  expect(kept.take('hook 1')).toBeUndefined();
  await waitUntil(() => kept.size === 0, { what: 'the closed one to be forgotten' });
  kept.keep('hook 1', one);
  expect(kept.size).toBe(0);
});

test('are bounded in all: the oldest makes room', async () => {
  const kept = new KeptConnections(5);
  const all = await Promise.all(Array.from({ length: 7 }, () => connection()));
  for (const [index, one] of all.entries()) kept.keep(`hook ${index}`, one);
  expect(kept.size).toBe(5);
  expect(all.map(({ socket }) => socket.destroyed)).toEqual([
    true,
    true,
    false,
    false,
    false,
    false,
    false,
  ]);
  kept.closeAll();
});
