import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.js';
import { waitUntil } from './wait-until.js';

let echo: Server;
let proxy: TcpProxy;
const clients: Socket[] = [];

beforeEach(async () => {
  echo = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.pipe(socket);
  }).listen(0, '127.0.0.1');
  await once(echo, 'listening');
  proxy = await startTcpProxy({ targetPort: (echo.address() as { port: number }).port });
});

afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy();
  await proxy.stop();
  echo.close();
  await once(echo, 'close');
});

interface Client {
  socket: Socket;
  heard: () => string;
  fate: Promise<string>;
}

async function join(hello: string): Promise<Client> {
  const socket = connect(proxy.port, '127.0.0.1');
  clients.push(socket);
  let text = '';
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  const fate = new Promise<string>((resolve) => {
    socket.once('error', (error) => resolve('code' in error ? String(error.code) : error.message));
    socket.once('close', () => resolve('closed'));
  });
  await once(socket, 'connect');
  socket.write(hello);
  return { socket, heard: () => text, fate };
}

const hears = (client: Client, text: string) =>
  waitUntil(() => client.heard() === text, { what: () => `"${text}", heard "${client.heard()}"` });

test('passes bytes both ways, and an end', async () => {
  const client = await join('hello');
  await hears(client, 'hello');
  client.socket.end(' and goodbye');
  expect(await client.fate).toBe('closed');
  expect(client.heard()).toBe('hello and goodbye');
  await waitUntil(() => proxy.connections().length === 0, { what: 'no connection' });
});

test('cut resets what is open and refuses what is new, until it resumes on the same port', async () => {
  const client = await join('hello');
  await hears(client, 'hello');
  await proxy.cut();
  expect(await client.fate).toBe('ECONNRESET');
  await expect(join('again')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  await proxy.resume();
  await hears(await join('again'), 'again');
});

test('a black hole swallows bytes without a word, for one connection alone too', async () => {
  const lost = await join('listener');
  const other = await join('worker');
  await hears(lost, 'listener');
  await hears(other, 'worker');
  const connection = proxy.connections().find((one) => one.head().toString() === 'listener');
  connection?.blackHole();
  lost.socket.write(' are you there');
  other.socket.write(' works');
  await hears(other, 'worker works');
  expect(lost.heard()).toBe('listener');
  expect(lost.socket.destroyed).toBe(false);
  connection?.resume();
  await hears(lost, 'listener are you there');
});

test('a black hole takes new connections and lets nothing through', async () => {
  proxy.blackHole();
  const client = await join('hello');
  await waitUntil(() => proxy.connections().length === 1, { what: 'the connection' });
  expect(client.heard()).toBe('');
  await proxy.resume();
  await hears(client, 'hello');
});
