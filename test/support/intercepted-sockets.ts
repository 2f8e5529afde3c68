import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';

/** Where a socket would have gone. */
export interface Call {
  host: string;
  port: number;
}

export interface InterceptedSockets {
  /** Those since it was last asked. */
  take(): Call[];
  stop(): void;
}

/**
 * Keeps every socket of this process from being connected and tells where it would have gone: nothing leaves, whatever
 * is dialed. They fail with ECONNREFUSED.
 *
 * @param instead - leads them there, as if a router did
 */
export function interceptSockets(instead?: Call): InterceptedSockets {
  let calls: Call[] = [];
  const onSocket = (message: unknown) => {
    const { socket } = message as { socket: Socket };
    // The prototype's, as what is set here is this socket's own.
    const connect = socket.connect.bind(socket);
    socket.connect = (options: unknown) => {
      const [to] = (Array.isArray(options) ? options : [options]) as Call[];
      calls.push({ host: String(to?.host), port: Number(to?.port) });
      if (instead) return connect(instead);
      socket.destroy(Object.assign(new Error('intercepted'), { code: 'ECONNREFUSED' }));
      return socket;
    };
  };
  subscribe('net.client.socket', onSocket);
  return {
    take: () => {
      const taken = calls;
      calls = [];
      return taken;
    },
    stop: () => {
      unsubscribe('net.client.socket', onSocket);
    },
  };
}
