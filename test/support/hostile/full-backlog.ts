import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

import { startProcess } from '../processes.js';

/** Listens for one connection, and takes none: its loop is blocked from then on. */
const TAKES_NOTHING = `
  const server = require('node:net').createServer();
  server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
    require('node:fs').writeSync(1, server.address().port + '\\n');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  });
`;
/** On loopback a connection is taken at once, or not at all. */
const TAKEN_WITHIN_MS = 150;
const FILLERS_MOST = 10;

/** A port of loopback where a connect is neither taken nor refused, as the queue before it is full. */
export async function startFullBacklog(): Promise<{ port: number; stop(): Promise<unknown> }> {
  const listening = await startProcess({
    name: 'a full backlog',
    command: [process.execPath, '-e', TAKES_NOTHING],
    ready: /^\d+$/u,
  });
  const port = Number(listening.lines()[0]);
  const fillers: Socket[] = [];
  const stop = () => {
    for (const socket of fillers) socket.destroy();
    return listening.kill9();
  };
  while (fillers.length < FILLERS_MOST) {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    fillers.push(socket);
    await delay(TAKEN_WITHIN_MS);
    if (socket.connecting) return { port, stop };
  }
  await stop();
  throw new Error(`The backlog took ${FILLERS_MOST} connections and is not full.`);
}
