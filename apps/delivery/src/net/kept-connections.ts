import type { Socket } from 'node:net';

import type { Client } from 'undici';

/** Receivers mostly close after 5 s; our own end comes first, so that seldom a closed one is used again. */
export const KEPT_FOR_MS = 4_000;
/**
 * Idle sockets in all; the oldest is closed for the next, or thousands of lanes would hold one each.
 * In turn over more lanes than are kept each is closed just before it is wanted: 10 % of the CPU (measured).
 */
const KEPT_IN_ALL = 2_000;
/** Response head: names and values together. */
const MAX_HEAD_BYTES = 8 * 1024;

type ClientClass = typeof Client;

/** A connection for one request at a time. */
export interface Connection {
  client: Client;
  socket: Socket;
  /** It carried a request before: the peer may have closed it meanwhile. */
  reused: boolean;
}

/** Wraps an open socket into an HTTP/1.1 client that can never dial by itself. */
export function openConnection(
  clientClass: ClientClass,
  origin: string,
  socket: Socket,
): Connection {
  let handedOver = false;
  const client = new clientClass(origin, {
    connect: (_options, done) => {
      const used = handedOver;
      handedOver = true;
      // Not at once: undici is still busy with the call that asks for the connection.
      queueMicrotask(() => {
        if (used) done(new Error('the kept connection was closed'), null);
        else done(null, socket);
      });
    },
    // The attempt's deadline is a timer of ours: undici's are coarse and cover only some phases.
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: KEPT_FOR_MS,
    keepAliveMaxTimeout: KEPT_FOR_MS,
    maxHeaderSize: MAX_HEAD_BYTES,
    pipelining: 1,
  });
  return { client, socket, reused: false };
}

/** Ends a connection and whatever it carries. */
export function closeConnection(connection: Connection): void {
  connection.socket.destroy();
  connection.client.destroy().catch(() => undefined);
}

/** Idle connections, by lane and origin: one destination's sockets are never another's. */
export class KeptConnections {
  readonly #most: number;
  readonly #byKey = new Map<string, Connection[]>();
  /** Oldest first. */
  readonly #keys = new Map<Connection, string>();

  constructor(most = KEPT_IN_ALL) {
    this.#most = most;
  }

  get size(): number {
    return this.#keys.size;
  }

  /** Takes the one that was used last, if any is still open. */
  take(key: string): Connection | undefined {
    for (;;) {
      const connection = this.#byKey.get(key)?.at(-1);
      if (!connection) return undefined;
      this.#forget(connection);
      if (!connection.socket.destroyed) return connection;
    }
  }

  keep(key: string, connection: Connection): void {
    if (connection.socket.destroyed) return;
    this.#keys.set(connection, key);
    const siblings = this.#byKey.get(key);
    if (siblings) siblings.push(connection);
    else this.#byKey.set(key, [connection]);
    // Once a socket, however often it is kept.
    if (!connection.reused) connection.socket.once('close', () => this.#forget(connection));
    connection.reused = true;
    if (this.#keys.size <= this.#most) return;
    const [oldest] = this.#keys.keys();
    if (oldest) {
      this.#forget(oldest);
      closeConnection(oldest);
    }
  }

  /** Closes all: nothing kept may outlive a change of policy or the process. */
  closeAll(): void {
    for (const connection of Array.from(this.#keys.keys())) {
      this.#forget(connection);
      closeConnection(connection);
    }
  }

  #forget(connection: Connection): void {
    const key = this.#keys.get(connection);
    if (key === undefined) return;
    this.#keys.delete(connection);
    const left = this.#byKey.get(key)?.filter((one) => one !== connection) ?? [];
    if (left.length > 0) this.#byKey.set(key, left);
    else this.#byKey.delete(key);
  }
}
