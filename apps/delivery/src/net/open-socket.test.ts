import { once } from 'node:events';
import type { Socket } from 'node:net';

import { expect, onTestFinished, test } from 'vitest';

import { rawServer } from '../../../../test/support/servers-of-a-test.js';
import { waitUntil } from '../../../../test/support/wait-until.js';
import { openSocket } from './open-socket.js';

async function open(port: number): Promise<Socket> {
  const socket = openSocket({ address: '127.0.0.1', port, asItComes: true });
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  return socket;
}

test('sockets tell of what comes and of its end, each of its own, though they share a buffer', async () => {
  const long = 'x'.repeat(300 * 1024);
  const server = await rawServer((socket) =>
    socket.once('data', (name) => socket.end(name + long)),
  );
  const seen = await Promise.all(
    ['a', 'b', 'c'].map(async (name) => {
      const socket = await open(server.port);
      let text = '';
      socket.on('data', (bytes: Buffer) => {
        text += bytes.toString('latin1');
      });
      socket.write(name);
      await once(socket, 'end');
      return text;
    }),
  );
  expect(seen).toEqual(['a', 'b', 'c'].map((name) => name + long));
});

test('a socket whose peer speaks before anyone listens is of no use', async () => {
  const server = await rawServer((socket) => socket.write('HTTP/1.1 200 OK\r\n'));
  const socket = await open(server.port);
  await waitUntil(() => socket.destroyed, { what: 'the end of the socket' });
});
