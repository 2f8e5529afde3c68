import { randomUUID } from 'node:crypto';

import { HEADER, type WebhookJob } from '@ghost/contract';
import { signWebhook } from '@ghost/signing';

import { REDACTED } from '../rules/stored-response.js';
import type { Hook } from './hook-directory.js';

/** What one attempt needs to know of the claimed job. */
export interface WebhookDelivery {
  id: string;
  eventId: string | null;
  /** Charged tries ever: this attempt is one more. */
  tries: number;
  redelivery: boolean;
  job: WebhookJob;
}

/** What history does not show: each is good for something to whoever copies it. */
const SIGNED = [HEADER.signature, HEADER.webhookSignature, HEADER.githubSignature, HEADER.chain];

/**
 * The head of one attempt (DESIGN §4). Signatures and their timestamp are made anew each time: a
 * receiver refuses what is old, and a late retry is not.
 *
 * @param nowMs - wall clock
 */
export function webhookHeaders(
  delivery: WebhookDelivery,
  hook: Hook,
  body: Buffer,
  nowMs: number,
  userAgent: string,
): Record<string, string> {
  const headers: Record<string, string> = {
    accept: '*/*',
    'content-type': 'application/json; charset=utf-8',
    'user-agent': userAgent,
    'accept-encoding': 'identity',
    [HEADER.event]: delivery.job.event,
    [HEADER.delivery]: delivery.id,
    [HEADER.hookId]: String(delivery.job.hookId),
    [HEADER.attempt]: String(delivery.tries + 1),
    [HEADER.traceparent]: traceparent(delivery),
  };
  if (delivery.redelivery) headers[HEADER.redelivery] = 'true';
  if (delivery.job.chain !== undefined) headers[HEADER.chain] = delivery.job.chain;
  const timestamp = Math.floor(nowMs / 1000);
  const { secrets, githubSignature: github } = hook;
  Object.assign(headers, signWebhook({ id: delivery.id, timestamp, body, secrets, github }));
  return hook.headers.length === 0 ? headers : withOwn(headers, hook.headers);
}

/** Of what both name, in whatever case, ours goes out; but for `accept`, which is theirs to choose. */
function withOwn(
  { accept = '', ...ours }: Record<string, string>,
  own: Hook['headers'],
): Record<string, string> {
  const headers: Record<string, string> = {};
  if (!own.some(([name]) => name.toLowerCase() === 'accept')) headers['accept'] = accept;
  for (const [name, value] of own) {
    if (!Object.hasOwn(ours, name.toLowerCase())) headers[name] = value;
  }
  return Object.assign(headers, ours);
}

/**
 * The head as history keeps it: a signature that someone copies from there could be sent again, and the owner's own
 * headers are credentials.
 */
export function storedRequestHead(
  headers: Record<string, string>,
  { headers: own }: Pick<Hook, 'headers'>,
): Record<string, string> {
  const stored = Object.assign({}, headers);
  for (const [name] of own) stored[name] = REDACTED;
  for (const name of SIGNED) if (name in stored) stored[name] = REDACTED;
  return stored;
}

/** W3C Trace Context: all deliveries of an event are one trace, each attempt a span. */
function traceparent({ id, eventId }: WebhookDelivery): string {
  // UUIDs come from a buffer of randomness; asking for 8 bytes each time costs ten times as much.
  const span = randomUUID();
  return `00-${(eventId ?? id).replaceAll('-', '')}-${span.slice(0, 8)}${span.slice(-8)}-01`;
}
