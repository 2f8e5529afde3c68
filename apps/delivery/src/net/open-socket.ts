import { connect, type Socket } from 'node:net';

/**
 * One for all sockets: libuv fills it when there is something to read, and tells at once. A buffer a read, and the queue
 * of a stream behind it, were 8 % of the worker's CPU (measured).
 */
const READ_INTO = Buffer.allocUnsafeSlow(64 * 1024);

export interface Place {
  address: string;
  port: number;
  /** Its bytes are not kept for whoever reads them later: `data` tells of them, and they are good until it returns. */
  asItComes: boolean;
}

/** Begins to connect; nothing is looked up. */
export function openSocket({ address, port, asItComes }: Place): Socket {
  const options = { host: address, port, noDelay: true };
  if (!asItComes) return connect(options);
  const callback = (length: number) => {
    // Nobody listens, so nothing was asked: what comes is no answer.
    if (!socket.emit('data', READ_INTO.subarray(0, length))) socket.destroy();
    return true;
  };
  const socket = connect({ ...options, onread: { buffer: READ_INTO, callback } });
  return socket;
}
