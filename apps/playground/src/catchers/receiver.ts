import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';

import { HEADER } from '@ghost/contract';
import { verifyWebhook, WebhookVerificationError } from '@ghost/signing';

import { LOOPBACK } from '../embedded/ports.js';

// A comment of 65,536 emoji is 384 KB of escaped JSON; what it is about adds some.
const MAX_BODY_BYTES = 2 * 1024 * 1024;
/** Bodies are compared over attempts; a playground that runs for days must not keep all. */
const MAX_REMEMBERED = 5000;
const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/u;

/** `ok`, or the code of the verification that failed. */
export interface SignatureVerdict {
  standard: string;
  ghost: string;
}

/** One request as it came, and what it was answered. */
export interface CaughtWebhook {
  deliveryId: string;
  event: string;
  hookId: string;
  attempt: string;
  redelivery: boolean;
  body: string;
  signatures: SignatureVerdict;
  /** Everything that is not as the contract says; empty when all is well. */
  problems: string[];
  answered: number;
  at: Date;
}

export interface ReceiverOptions {
  port: number;
  /** The secret of the hook with this path; undefined: no such hook. */
  secretOf: (path: string) => string | undefined;
  /** Whether the first try of the n-th delivery (from 1) is answered 500. */
  failsFirstTry: (ordinal: number) => boolean;
  onWebhook: (webhook: CaughtWebhook) => void;
}

export interface Receiver {
  readonly url: string;
  readonly port: number;
  stop(): Promise<void>;
}

/**
 * A webhook endpoint as a customer would write one: reads the bytes, verifies both signature
 * schemes, then answers. Some first tries fail on purpose.
 */
export async function startReceiver(options: ReceiverOptions): Promise<Receiver> {
  const seen = new Map<string, { body: string; tries: number }>();
  let deliveries = 0;
  const answerOf = (webhook: CaughtWebhook): number => {
    if (webhook.problems.length > 0) return 400;
    const before = seen.get(webhook.deliveryId);
    if (before) return 200;
    deliveries += 1;
    return options.failsFirstTry(deliveries) ? 500 : 200;
  };
  const server = createServer((request, response) => {
    receive(request, response, options, seen, answerOf).catch(() => response.destroy());
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

async function receive(
  request: IncomingMessage,
  response: ServerResponse,
  options: ReceiverOptions,
  seen: Map<string, { body: string; tries: number }>,
  answerOf: (webhook: CaughtWebhook) => number,
): Promise<void> {
  const bytes = await readBody(request);
  const secret = options.secretOf(request.url ?? '');
  if (bytes === undefined || secret === undefined || request.method !== 'POST') {
    const status = bytes === undefined ? 413 : 404;
    response.writeHead(status, { connection: 'close' }).end();
    return;
  }
  const webhook = inspect(request, bytes, secret);
  const before = seen.get(webhook.deliveryId);
  if (before && before.body !== webhook.body) {
    webhook.problems.push('its bytes differ from an earlier try');
  }
  webhook.answered = answerOf(webhook);
  remember(seen, webhook);
  options.onWebhook(webhook);
  response
    .writeHead(webhook.answered, { 'content-type': 'text/plain' })
    .end(
      webhook.answered === 200
        ? 'ok\n'
        : `${webhook.problems.join('; ') || 'failing on purpose'}\n`,
    );
}

function inspect(request: IncomingMessage, bytes: Buffer, secret: string): CaughtWebhook {
  const header = (name: string) => {
    const value = request.headers[name];
    return typeof value === 'string' ? value : '';
  };
  const webhook: CaughtWebhook = {
    deliveryId: header(HEADER.delivery),
    event: header(HEADER.event),
    hookId: header(HEADER.hookId),
    attempt: header(HEADER.attempt),
    redelivery: header(HEADER.redelivery) === 'true',
    body: bytes.toString('utf8'),
    signatures: {
      standard: verdict(request, bytes, secret, 'standard'),
      ghost: verdict(request, bytes, secret, 'ghost'),
    },
    problems: [],
    answered: 0,
    at: new Date(),
  };
  webhook.problems = problemsOf(webhook, header(HEADER.webhookId), header('content-type'));
  if (!bytes.equals(Buffer.from(webhook.body))) webhook.problems.push('its body is not UTF-8');
  return webhook;
}

function verdict(
  request: IncomingMessage,
  body: Buffer,
  secret: string,
  scheme: 'standard' | 'ghost',
): string {
  try {
    verifyWebhook({ headers: request.headers, body, secret, scheme });
    return 'ok';
  } catch (error) {
    if (error instanceof WebhookVerificationError) return error.code;
    throw error;
  }
}

function problemsOf(webhook: CaughtWebhook, webhookId: string, contentType: string): string[] {
  const problems: string[] = [];
  for (const [scheme, outcome] of Object.entries(webhook.signatures)) {
    if (outcome !== 'ok') problems.push(`${scheme} signature: ${outcome}`);
  }
  if (!UUID.test(webhook.deliveryId)) problems.push(`${HEADER.delivery} is no job id`);
  if (webhookId !== webhook.deliveryId) problems.push(`${HEADER.webhookId} is not the job's id`);
  if (webhook.event === '') problems.push(`${HEADER.event} is missing`);
  if (!/^[1-9]\d*$/u.test(webhook.hookId)) problems.push(`${HEADER.hookId} is no hook's id`);
  if (!/^[1-9]\d*$/u.test(webhook.attempt)) problems.push(`${HEADER.attempt} is no number`);
  if (!/^application\/json; ?charset=utf-8$/iu.test(contentType)) {
    problems.push(`content-type is "${contentType}"`);
  }
  if (!isJson(webhook.body)) problems.push('its body is not JSON');
  return problems;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Undefined when it is larger than any webhook of ours. */
async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function remember(seen: Map<string, { body: string; tries: number }>, webhook: CaughtWebhook) {
  const tries = (seen.get(webhook.deliveryId)?.tries ?? 0) + 1;
  seen.set(webhook.deliveryId, { body: webhook.body, tries });
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
