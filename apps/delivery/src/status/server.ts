import type { Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

import type { Metrics } from './metrics.js';

// An `import` of it reads all of its exports, and so loads the built-in fetch on Node 22 and 24: 6 MB (measured).
const { createServer } = process.getBuiltinModule('node:http');

/** A probe may come each second; asking the database for each would be a poll. */
const ANSWER_IS_FRESH_MS = 10_000;

export interface StatusSources {
  metrics: Metrics;
  /** Looks for work, and whether the connections still live; returns at once. */
  wake: () => void;
  database: { up: boolean; silentMs: number };
  /** Asks the database for a sign of life. */
  ping: () => Promise<void>;
  listening: () => boolean;
  stopping: () => boolean;
}

export interface StatusServer {
  port: number;
  close(): Promise<void>;
}

/**
 * Serves the private port: `GET /healthz` (alive), `GET /readyz` (can work), `GET /metrics`, and
 * `POST /wake`.
 *
 * @throws what listening throws: EADDRINUSE when the port is taken
 */
export async function startStatusServer(
  address: { host: string; port: number },
  sources: StatusSources,
): Promise<StatusServer> {
  const server = createServer((request, response) => {
    request.resume();
    const { pathname } = new URL(request.url ?? '/', 'http://status');
    answer(request.method ?? '', pathname, response, sources).catch(() => response.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(address.port, address.host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () => closeServer(server),
  };
}

async function answer(
  method: string,
  path: string,
  response: ServerResponse,
  sources: StatusSources,
): Promise<void> {
  const allowed = path === '/wake' ? 'POST' : 'GET';
  if (!['/healthz', '/readyz', '/metrics', '/wake'].includes(path)) {
    return json(response, 404, { message: 'There is only /healthz, /readyz, /metrics and /wake.' });
  }
  if (method !== allowed && !(allowed === 'GET' && method === 'HEAD')) {
    response.setHeader('allow', allowed);
    return json(response, 405, { message: `Use ${allowed}.` });
  }
  switch (path) {
    case '/wake':
      sources.wake();
      return json(response, 202, { status: 'awake' });
    case '/metrics': {
      const { text, contentType } = await sources.metrics.render();
      response.writeHead(200, { 'content-type': contentType }).end(text);
      return;
    }
    case '/readyz':
      return ready(response, sources);
    default:
      return json(response, 200, { status: 'ok' });
  }
}

async function ready(response: ServerResponse, sources: StatusSources): Promise<void> {
  if (!sources.database.up || sources.database.silentMs > ANSWER_IS_FRESH_MS) {
    await sources.ping().catch(() => undefined);
  }
  const { up } = sources.database;
  const fresh = sources.database.silentMs <= ANSWER_IS_FRESH_MS;
  const checks = {
    database: up && fresh ? 'ok' : 'does not answer',
    listener: sources.listening() ? 'ok' : 'not connected',
    process: sources.stopping() ? 'stopping' : 'ok',
  };
  const isReady = Object.values(checks).every((check) => check === 'ok');
  json(response, isReady ? 200 : 503, { status: isReady ? 'ok' : 'not ready', checks });
}

function json(response: ServerResponse, status: number, body: object): void {
  response
    .writeHead(status, { 'content-type': 'application/json; charset=utf-8' })
    .end(`${JSON.stringify(body)}\n`);
}

async function closeServer(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeAllConnections();
  await closed;
}
