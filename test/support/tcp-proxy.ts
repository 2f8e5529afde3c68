import { once } from 'node:events';
import { createServer, type Server, type Socket, connect } from 'node:net';

const LOOPBACK = '127.0.0.1';
/** Enough to recognise a connection by what it says first, such as Postgres' application_name. */
const HEAD_BYTES = 1024;

/** One connection through the proxy, while it is open. */
export interface ProxiedConnection {
  /** The first bytes that the client sent (up to 1 KB): tells which connection it is. */
  head(): Buffer;
  /** Bytes pass no more, in both directions; nobody is told. */
  blackHole(): void;
  resume(): void;
  /** Resets both sides. */
  cut(): void;
}

export interface TcpProxy {
  readonly port: number;
  /** The same address with the proxy's host and port. */
  urlFor(url: string): string;
  connections(): readonly ProxiedConnection[];
  /** Bytes that came in from both sides since the start: still means idle. */
  bytes(): number;
  /** Resets all connections and refuses new ones. */
  cut(): Promise<void>;
  /** All connections and new ones stay open, and nothing passes. */
  blackHole(): void;
  /** Lets bytes and new connections pass again; what a black hole held back flows on. */
  resume(): Promise<void>;
  stop(): Promise<void>;
}

export interface TcpProxyOptions {
  readonly targetPort: number;
  readonly targetHost?: string;
}

interface State {
  readonly target: { readonly host: string; readonly port: number };
  readonly connections: Set<ProxiedConnection>;
  blackHoled: boolean;
  bytes: number;
}

/** Starts a proxy on a free port of the loopback address that passes everything on, until told otherwise. */
export async function startTcpProxy(options: TcpProxyOptions): Promise<TcpProxy> {
  const state: State = {
    target: { host: options.targetHost ?? LOOPBACK, port: options.targetPort },
    connections: new Set(),
    blackHoled: false,
    bytes: 0,
  };
  const accept = (client: Socket) => openConnection(state, client);
  let server = await listen(0, accept);
  const port = portOf(server);
  const cut = async () => {
    const closed = close(server);
    for (const connection of state.connections) connection.cut();
    await closed;
  };
  return {
    port,
    urlFor: (url) => {
      const proxied = new URL(url);
      proxied.hostname = LOOPBACK;
      proxied.port = String(port);
      return proxied.href;
    },
    connections: () => [...state.connections],
    bytes: () => state.bytes,
    cut,
    blackHole: () => {
      state.blackHoled = true;
      for (const connection of state.connections) connection.blackHole();
    },
    resume: async () => {
      state.blackHoled = false;
      for (const connection of state.connections) connection.resume();
      if (!server.listening) server = await listen(port, accept);
    },
    stop: cut,
  };
}

function openConnection(state: State, client: Socket): void {
  // Half-open on purpose: an end of one side must not end the other before its bytes passed.
  const upstream = connect({ ...state.target, allowHalfOpen: true });
  const sides = [client, upstream];
  let head = Buffer.alloc(0);
  const keepHead = (chunk: Buffer) => {
    if (head.length < HEAD_BYTES) head = Buffer.concat([head, chunk]).subarray(0, HEAD_BYTES);
  };
  const connection: ProxiedConnection = {
    head: () => head,
    blackHole: () => {
      client.unpipe(upstream).pause();
      upstream.unpipe(client).pause();
    },
    resume: () => {
      client.pipe(upstream);
      upstream.pipe(client);
    },
    cut: () => {
      for (const side of sides) side.resetAndDestroy();
    },
  };
  state.connections.add(connection);
  client.on('data', keepHead);
  for (const side of sides) {
    side.on('data', (chunk: Buffer) => {
      state.bytes += chunk.length;
    });
    side.setNoDelay(true);
    // An error comes with a close, which is what counts.
    side.on('error', () => undefined);
    side.on('close', (hadError) => {
      state.connections.delete(connection);
      for (const other of sides) {
        if (hadError) other.resetAndDestroy();
        else other.destroySoon();
      }
    });
  }
  if (state.blackHoled) connection.blackHole();
  else connection.resume();
}

async function listen(port: number, accept: (client: Socket) => void): Promise<Server> {
  const server = createServer({ allowHalfOpen: true }, accept);
  server.listen(port, LOOPBACK);
  await once(server, 'listening');
  return server;
}

async function close(server: Server): Promise<void> {
  if (!server.listening) return;
  const closed = once(server, 'close');
  server.close();
  await closed;
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The proxy has no port.');
  return address.port;
}
