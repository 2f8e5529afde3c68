import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';

const LOOPBACK = '127.0.0.1';

export interface RawServer {
  readonly port: number;
  /** Connections until now. */
  connections(): number;
  /** Open connections. */
  open(): number;
  /** Closes every connection. */
  stop(): Promise<void>;
}

/** Starts a TCP server on a free port, or that one, of a loopback address that does whatever the test says with each connection. */
export async function startRawServer(
  onSocket: (socket: Socket, number: number) => void,
  host: string = LOOPBACK,
  port = 0,
): Promise<RawServer> {
  const sockets = new Set<Socket>();
  let count = 0;
  const server = createServer((socket) => {
    count += 1;
    sockets.add(socket);
    // Clients are cut off on purpose.
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    onSocket(socket, count);
    // A socket that is never read never hears of its end.
    socket.resume();
  });
  server.listen(port, host);
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('No port.');
  return {
    port: address.port,
    connections: () => count,
    open: () => sockets.size,
    stop: async () => {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
