import { once } from 'node:events';
import { connect } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';

import { expect, onTestFinished, test } from 'vitest';

import { rawServer } from '../../../../test/support/servers-of-a-test.js';
import { AnswerReader } from './answer-reader.js';
import { HttpConnection } from './http-connection.js';

const REQUEST = Buffer.from('POST / HTTP/1.1\r\ncontent-length: 0\r\n\r\n');
const ANSWER = Buffer.from('HTTP/1.1 204 No Content\r\n\r\n');

async function answering() {
  let bytes = 0;
  const server = await rawServer((socket) =>
    socket.on('data', (request) => {
      bytes += request.length;
      socket.write(ANSWER);
    }),
  );
  const open = async () => {
    const socket = connect(server.port, '127.0.0.1');
    await once(socket, 'connect');
    const connection = new HttpConnection(socket);
    onTestFinished(() => connection.close());
    return connection;
  };
  return { open, bytes: () => bytes };
}

const post = (connection: HttpConnection) =>
  connection.post(REQUEST, new AnswerReader(), () => undefined);

test('requests of one turn of the loop are written at its end', async () => {
  const { open } = await answering();
  const [one, other] = [await open(), await open()];
  const ended = [post(one), post(other)];
  expect([one.socket.bytesWritten, other.socket.bytesWritten]).toEqual([0, 0]);
  await turn();
  expect([one.socket.bytesWritten, other.socket.bytesWritten]).toEqual([
    REQUEST.length,
    REQUEST.length,
  ]);
  expect(await Promise.all(ended)).toEqual([
    { kind: 'answered', reusable: true },
    { kind: 'answered', reusable: true },
  ]);
});

test('what comes before a request was written is no answer to it', async () => {
  const { open } = await answering();
  const connection = await open();
  const ended = post(connection);
  connection.socket.emit('data', ANSWER);
  expect(await ended).toMatchObject({ kind: 'fault' });
  expect(connection.socket.destroyed).toBe(true);
});

test('a request whose connection is closed before it was written is not sent', async () => {
  const { open, bytes } = await answering();
  const [closed, other] = [await open(), await open()];
  const ended = post(closed);
  closed.close();
  expect(await ended).toMatchObject({ kind: 'fault' });
  await post(other);
  expect(bytes()).toBe(REQUEST.length);
});
