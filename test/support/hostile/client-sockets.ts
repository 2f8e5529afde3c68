import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';

/** Each connection that this process makes, whoever makes it. */
const MADE = 'net.client.socket';

export interface ClientSockets {
  /** How many are open, to this port or in all. */
  open(port?: number): number;
  stop(): void;
}

/** Counts the connections that this process makes from now on until they are closed. */
export function watchClientSockets(): ClientSockets {
  const sockets = new Set<Socket>();
  const add = (message: unknown) => {
    const { socket } = message as { socket: Socket };
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  };
  subscribe(MADE, add);
  return {
    open: (port) =>
      port === undefined
        ? sockets.size
        : Array.from(sockets).filter(({ remotePort }) => remotePort === port).length,
    stop: () => void unsubscribe(MADE, add),
  };
}
