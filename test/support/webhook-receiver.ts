import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { waitUntil } from './wait-until.js';

const LOOPBACK = '127.0.0.1';

export interface ReceivedRequest {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  /** The bytes as they came. */
  readonly body: Buffer;
  /** When the last byte had come. */
  readonly at: Date;
}

/** What is answered: a status alone, a whole answer, nothing ever, or a reset of the connection. */
export type ReceiverAnswer =
  | number
  | {
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string | Buffer;
    }
  | 'hang'
  | 'reset';

/** Decides the answer; one that returns nothing has written to `response` itself. */
export type ReceiverHandler = (
  request: ReceivedRequest,
  response: ServerResponse,
) => ReceiverAnswer | void | Promise<ReceiverAnswer | void>;

export interface WebhookReceiver {
  /** `http://<host>:<port>/` */
  readonly url: string;
  readonly port: number;
  requests(): readonly ReceivedRequest[];
  /** Waits until so many came in all, and returns them all. */
  waitForRequests(count: number, timeoutMs?: number): Promise<readonly ReceivedRequest[]>;
  setHandler(handler: ReceiverHandler): void;
  /** Closes every connection. */
  stop(): Promise<void>;
}

/** Starts a receiver on a free port of a loopback address that records every request. It answers 200 by default. */
export async function startReceiver(
  handler: ReceiverHandler = () => 200,
  host = LOOPBACK,
): Promise<WebhookReceiver> {
  const received: ReceivedRequest[] = [];
  let current = handler;
  const server = createServer((request, response) => {
    receive(request, response, received, () => current).catch((error: unknown) => {
      // The sender went away, or the handler threw: it gets no answer and the test sees why.
      response.destroy(error instanceof Error ? error : new Error(String(error)));
    });
  });
  server.listen(0, host);
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('No port.');
  return {
    url: `http://${host}:${address.port}/`,
    port: address.port,
    requests: () => received,
    waitForRequests: async (count, timeoutMs) => {
      await waitUntil(() => received.length >= count, {
        what: () => `${count} requests (${received.length} came)`,
        ...(timeoutMs === undefined ? {} : { timeoutMs }),
      });
      return received;
    },
    setHandler: (next) => {
      current = next;
    },
    stop: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function receive(
  request: IncomingMessage,
  response: ServerResponse,
  received: ReceivedRequest[],
  handler: () => ReceiverHandler,
): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const record: ReceivedRequest = {
    method: request.method ?? '',
    url: request.url ?? '',
    headers: request.headers,
    body: Buffer.concat(chunks),
    at: new Date(),
  };
  received.push(record);
  const answer = await handler()(record, response);
  if (answer === undefined || answer === 'hang') return;
  if (answer === 'reset') {
    request.socket.resetAndDestroy();
    return;
  }
  const {
    status,
    headers = {},
    body = '',
  } = typeof answer === 'number' ? { status: answer } : answer;
  response.writeHead(status, headers).end(body);
}
