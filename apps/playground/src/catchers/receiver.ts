import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';

import { LOOPBACK } from '../embedded/ports.js';
import { type Answer, type Answers, REDIRECT_PATH, SLOW_MS } from './answers.js';
import { type CaughtWebhook, inspectWebhook, type KnownSecret } from './inspect-webhook.js';
import { readBody } from './read-body.js';

// A comment of 65,536 emoji is 384 KB of escaped JSON; what it is about adds some.
const MAX_BODY_BYTES = 2 * 1024 * 1024;
/** Bodies are compared over attempts; a playground that runs for days must not keep all. */
const MAX_REMEMBERED = 5000;
/** Where hooks are; any name is one. */
const HOOK_PATH = /^\/hooks\/[^/?#]+$/u;

export interface ReceiverOptions {
  port: number;
  /** The secret of the hook with this path; undefined: a hook of the person's own. */
  secretOf: (path: string) => KnownSecret | undefined;
  /** Whether the first try of the n-th delivery (from 1) is answered 500. */
  failsFirstTry: (ordinal: number) => boolean;
  /** What it was told to answer instead. */
  answers: Answers;
  /** Serves what is not for a hook; false: neither is it for this. */
  serve: (request: IncomingMessage, response: ServerResponse) => Promise<boolean>;
  onWebhook: (webhook: CaughtWebhook) => void;
  onStray: (stray: StrayRequest) => void;
}

/** What was posted where no hook is. */
export interface StrayRequest {
  path: string;
  at: Date;
}

export interface Receiver {
  readonly url: string;
  readonly port: number;
  /** Ends at once, also what hangs. */
  stop(): Promise<void>;
}

/**
 * A webhook endpoint as a customer would write one: reads the bytes, verifies both signature
 * schemes, then answers; a hook whose secret it does not know is answered unverified. Some first tries fail on purpose, and it can be told to answer otherwise.
 */
export async function startReceiver(options: ReceiverOptions): Promise<Receiver> {
  const take = createTaker(options);
  const server = createServer((request, response) => {
    options
      .serve(request, response)
      .then((served) => (served ? undefined : take(request, response)))
      .catch(() => response.destroy());
  });
  server.listen(options.port, LOOPBACK);
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The receiver has no port.');
  return {
    url: `http://${LOOPBACK}:${address.port}`,
    port: address.port,
    stop: () => close(server),
  };
}

function createTaker(options: ReceiverOptions) {
  const seen = new Map<string, string>();
  let deliveries = 0;
  /** What it answers by itself. */
  const scripted = (webhook: CaughtWebhook): number => {
    if (webhook.problems.length > 0) return 400;
    if (seen.has(webhook.deliveryId)) return 200;
    deliveries += 1;
    return options.failsFirstTry(deliveries) ? 500 : 200;
  };
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = request.url ?? '';
    const bytes = await readBody(request, MAX_BODY_BYTES);
    const posted = request.method === 'POST';
    if (bytes === undefined || !posted || !HOOK_PATH.test(path)) {
      const status = bytes === undefined ? 413 : 404;
      if (posted && status === 404) options.onStray({ path, at: new Date() });
      response.writeHead(status, { connection: 'close' }).end();
      return;
    }
    const webhook = inspectWebhook(request, bytes, options.secretOf(path));
    const before = seen.get(webhook.deliveryId);
    if (before !== undefined && before !== webhook.body) {
      webhook.problems.push('its bytes differ from an earlier try');
    }
    webhook.told = options.answers.of(path);
    webhook.answered = statusOf(webhook.told) ?? scripted(webhook);
    remember(seen, webhook);
    options.onWebhook(webhook);
    answer(response, webhook);
  };
}

/** 0 for none; undefined: the script decides. */
function statusOf(told: Answer): number | undefined {
  if (told === 'scripted') return undefined;
  if (told === 'hang') return 0;
  return told === 'slow' ? 200 : Number(told);
}

function answer(response: ServerResponse, { told, answered, problems }: CaughtWebhook): void {
  if (told === 'hang') return;
  const send = () => {
    const location = answered === 302 ? { location: REDIRECT_PATH } : {};
    const text = answered === 200 ? 'ok' : problems.join('; ') || 'failing on purpose';
    response.writeHead(answered, { 'content-type': 'text/plain', ...location }).end(`${text}\n`);
  };
  if (told !== 'slow') {
    send();
    return;
  }
  const timer = setTimeout(send, SLOW_MS);
  response.once('close', () => clearTimeout(timer));
}

function remember(seen: Map<string, string>, webhook: CaughtWebhook): void {
  seen.set(webhook.deliveryId, webhook.body);
  if (seen.size <= MAX_REMEMBERED) return;
  const oldest = seen.keys().next().value;
  if (oldest !== undefined) seen.delete(oldest);
}

async function close(server: Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
}
