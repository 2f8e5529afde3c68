import { once } from 'node:events';
import { connect } from 'node:net';

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { type RawServer, startRawServer } from '../../../../test/support/raw-server.js';
import { waitUntil } from '../../../../test/support/wait-until.js';
import { HttpConnection } from './http-connection.js';
import { KeptConnections } from './kept-connections.js';

let server: RawServer | undefined;
afterEach(async () => {
  await server?.stop();
  server = undefined;
});

async function connection() {
  server ??= await startRawServer(() => undefined);
  const socket = connect(server.port, '127.0.0.1');
  await once(socket, 'connect');
  return new HttpConnection(socket);
}

/** As a request does that dialed its connection and is over. */
function put(kept: KeptConnections, key: string, ...connections: HttpConnection[]) {
  for (const _ of connections) expect(kept.acquire(key)).toBeUndefined();
  for (const one of connections) kept.release(key, 'host', one);
}

test('hand out each connection once, the one used last first, only under its key', async () => {
  const kept = new KeptConnections();
  const first = await connection();
  put(kept, 'hook 1', first);
  expect(kept.acquire('hook 2')).toBeUndefined();
  expect(kept.acquire('hook 1')).toBe(first);
  const another = kept.acquire('hook 1');
  const second = await connection();
  // The other request of the hook waited for the first one, and got it.
  kept.release('hook 1', 'host', first);
  expect(await another).toBe(first);
  kept.release('hook 1', 'host', first);
  void kept.acquire('hook 1');
  const late = kept.acquire('hook 1');
  kept.release('hook 1', 'host', undefined);
  expect(await late).toBeUndefined();
  kept.release('hook 1', 'host', second);
  expect(kept.acquire('hook 1')).toBe(second);
  kept.release('hook 1', 'host', second);
  kept.closeAll();
  expect([second.socket.destroyed, kept.size]).toEqual([true, 0]);
});

test('a request waits only a moment for the connection of another one', async () => {
  const kept = new KeptConnections();
  void kept.acquire('hook 1');
  const waited = await Promise.all([kept.acquire('hook 1'), kept.acquire('hook 1')]);
  expect(waited).toEqual([undefined, undefined]);
  for (const _ of [1, 2, 3]) kept.release('hook 1', 'host', undefined);
  expect(kept.acquire('hook 1')).toBeUndefined();
});

describe('requests that wait for the connection of another one', () => {
  beforeEach(
    () => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }),
  );
  afterEach(() => void vi.useRealTimers());

  function waiting(kept: KeptConnections, requests: number) {
    void kept.acquire('hook 1');
    const given: (HttpConnection | undefined)[] = [];
    for (let request = 0; request < requests; request += 1) {
      void Promise.resolve(kept.acquire('hook 1')).then((one) => given.push(one));
    }
    return given;
  }

  test('wait on while answers come, but not for long', async () => {
    const kept = new KeptConnections();
    const one = await connection();
    const given = waiting(kept, 6);
    for (const answeredMs of [60, 120, 180, 240]) {
      await vi.advanceTimersByTimeAsync(60);
      kept.release('hook 1', 'host', one);
      await vi.advanceTimersByTimeAsync(0);
      expect(given, `${answeredMs} ms`).toHaveLength(answeredMs / 60);
    }
    await vi.advanceTimersByTimeAsync(59);
    expect(given).toEqual([one, one, one, one]);
    await vi.advanceTimersByTimeAsync(2);
    expect(given).toEqual([one, one, one, one, undefined, undefined]);
  });

  test('wait no longer once the answers stop', async () => {
    const kept = new KeptConnections();
    const one = await connection();
    const given = waiting(kept, 3);
    await vi.advanceTimersByTimeAsync(60);
    kept.release('hook 1', 'host', one);
    await vi.advanceTimersByTimeAsync(99);
    expect(given).toEqual([one]);
    await vi.advanceTimersByTimeAsync(2);
    expect(given).toEqual([one, undefined, undefined]);
  });

  test('wait no longer for answers that leave no connection', async () => {
    const kept = new KeptConnections();
    const given = waiting(kept, 3);
    await vi.advanceTimersByTimeAsync(60);
    kept.release('hook 1', 'host', undefined);
    await vi.advanceTimersByTimeAsync(39);
    expect(given).toEqual([undefined]);
    await vi.advanceTimersByTimeAsync(2);
    expect(given).toEqual([undefined, undefined, undefined]);
  });
});

test('let none be used for ever, however busy it is: its name may lead elsewhere by now', async () => {
  const kept = new KeptConnections(5, 0);
  const one = await connection();
  put(kept, 'hook 1', one);
  expect([one.socket.destroyed, kept.size]).toEqual([true, 0]);
  void kept.acquire('hook 1');
  const late = kept.acquire('hook 1');
  const another = await connection();
  kept.release('hook 1', 'host', another);
  // Nor is it handed to who waits.
  expect([await late, another.socket.destroyed]).toEqual([undefined, true]);
});

test('forget what was closed meanwhile', async () => {
  const kept = new KeptConnections();
  const one = await connection();
  put(kept, 'hook 1', one);
  expect(kept.size).toBe(1);
  one.close();
  expect(kept.acquire('hook 1')).toBeUndefined();
  await waitUntil(() => kept.size === 0, { what: 'the closed one to be forgotten' });
  kept.release('hook 1', 'host', one);
  expect(kept.size).toBe(0);
});

test('what comes on an idle connection ends it: it would be taken for the next answer', async () => {
  const poisoner = await startRawServer((socket) => socket.write('HTTP/1.1 200 OK\r\n'));
  try {
    const socket = connect(poisoner.port, '127.0.0.1');
    const one = new HttpConnection(socket);
    await once(socket, 'close');
    expect(one.idle).toBe(false);
  } finally {
    await poisoner.stop();
  }
});

test('are bounded in all: the oldest makes room', async () => {
  const kept = new KeptConnections(5);
  const all = await Promise.all(Array.from({ length: 7 }, () => connection()));
  for (const [index, one] of all.entries()) put(kept, `hook ${index}`, one);
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
