import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';

import { nowMs } from '../clock.js';

const CLIENT_SOCKETS = 'net.client.socket';

export interface AnswerWatch {
  /** When the last bytes came, on any connection that was opened since. */
  lastMs(): number;
  stop(): void;
}

/**
 * Notes when a store's answers reach this process: what a client library does until its promise resolves is not the
 * store's time, and takes one 0.05 ms and another 0.3 (measured).
 */
export function watchAnswers(): AnswerWatch {
  let lastMs = Number.NaN;
  const watch = (message: unknown) => {
    const { socket } = message as { socket: Socket };
    // The first to hear of it: whoever opened the socket has had no time to listen yet.
    socket.on('data', () => {
      lastMs = nowMs();
    });
  };
  subscribe(CLIENT_SOCKETS, watch);
  return { lastMs: () => lastMs, stop: () => unsubscribe(CLIENT_SOCKETS, watch) };
}
