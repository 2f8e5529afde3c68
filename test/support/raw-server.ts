import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';

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

/**
 * Starts a TCP server on a free port, or that one, of a loopback address that does whatever the test says with each
 * connection.
 *
 * @param tls - with it the server speaks TLS, and `onSocket` comes after the handshake
 */
export async function startRawServer(
  onSocket: (socket: Socket, number: number) => void,
  host: string = LOOPBACK,
  { port = 0, tls }: { port?: number; tls?: TlsOptions } = {},
): Promise<RawServer> {
  const sockets = new Set<Socket>();
  let count = 0;
  const play = (socket: Socket) => {
    // Clients are cut off on purpose.
    socket.on('error', () => undefined);
    onSocket(socket, count);
    // A socket that is never read never hears of its end.
    socket.resume();
  };
  const server = tls ? createTlsServer(tls, play) : createServer(play);
  server.prependListener('connection', (socket: Socket) => {
    count += 1;
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
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
