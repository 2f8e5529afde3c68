import type { IncomingMessage } from 'node:http';

import { HEADER } from '@ghost/contract';
import { verifyWebhook, WebhookVerificationError } from '@ghost/signing';

import type { Answer } from './answers.js';

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/u;

/** `ok`, the code of the verification that failed, or `unknown_secret`. */
export interface SignatureVerdict {
  standard: string;
  ghost: string;
}

/** A hook's secret, and where a person finds it. */
export interface KnownSecret {
  secret: string;
  /** `"all-events" of "secrets" in /project/.ghost/demo.json` */
  at: string;
}

/** One request as it came, and what it was answered. */
export interface CaughtWebhook {
  deliveryId: string;
  event: string;
  hookId: string;
  attempt: string;
  redelivery: boolean;
  body: string;
  /** Where the secret is that it has to be signed with; null: nobody knows, so it was not verified. */
  secretAt: string | null;
  signatures: SignatureVerdict;
  /** Everything that is not as the contract says; empty when all is well. */
  problems: string[];
  /** The status; 0 when it gets no answer. */
  answered: number;
  /** What the receiver was told to answer. */
  told: Answer;
  at: Date;
}

/**
 * Reads a request as a customer would: verifies both schemes, where the secret is known, and what the
 * contract says of headers.
 */
export function inspectWebhook(
  request: IncomingMessage,
  bytes: Buffer,
  known: KnownSecret | undefined,
): CaughtWebhook {
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
    secretAt: known?.at ?? null,
    signatures: {
      standard: verdict(request, bytes, known, 'standard'),
      ghost: verdict(request, bytes, known, 'ghost'),
    },
    problems: [],
    answered: 0,
    told: 'scripted',
    at: new Date(),
  };
  webhook.problems = problemsOf(webhook, header(HEADER.webhookId), header('content-type'));
  if (!bytes.equals(Buffer.from(webhook.body))) webhook.problems.push('its body is not UTF-8');
  return webhook;
}

function verdict(
  request: IncomingMessage,
  body: Buffer,
  known: KnownSecret | undefined,
  scheme: 'standard' | 'ghost',
): string {
  if (known === undefined) return 'unknown_secret';
  try {
    verifyWebhook({ headers: request.headers, body, secret: known.secret, scheme });
    return 'ok';
  } catch (error) {
    if (error instanceof WebhookVerificationError) return error.code;
    throw error;
  }
}

function problemsOf(webhook: CaughtWebhook, webhookId: string, contentType: string): string[] {
  const problems: string[] = [];
  for (const [scheme, outcome] of Object.entries(webhook.signatures)) {
    if (webhook.secretAt !== null && outcome !== 'ok')
      problems.push(`${scheme} signature: ${outcome}`);
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
