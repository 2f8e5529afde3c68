import { Socket } from 'node:net';

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
  // The prototype's: Node 24 tells of a socket (`net.client.socket`) when its own is called already.
  const original = Object.getOwnPropertyDescriptor(Socket.prototype, 'connect');
  const connect: unknown = original?.value;
  if (original === undefined || typeof connect !== 'function') throw new Error('No connect.');
  Object.defineProperty(Socket.prototype, 'connect', {
    ...original,
    value(this: Socket, options: unknown) {
      const [to] = (Array.isArray(options) ? options : [options]) as Call[];
      calls.push({ host: String(to?.host), port: Number(to?.port) });
      if (instead) return connect.call(this, instead);
      return this.destroy(Object.assign(new Error('intercepted'), { code: 'ECONNREFUSED' }));
    },
  });
  return {
    take: () => {
      const taken = calls;
      calls = [];
      return taken;
    },
    stop: () => {
      Object.defineProperty(Socket.prototype, 'connect', original);
    },
  };
}
