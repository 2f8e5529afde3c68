import type { AttemptFacts, AttemptOutcome } from '@ghost/contract';
import { GENERIC_REFUSAL } from '@ghost/policy';
import type { Client } from 'undici';

import {
  type AnswerProgress,
  exchange,
  type Exchanged,
  type HttpRequest,
} from '../net/exchange.js';
import { dial, type Dialed, type Dialer } from '../net/guarded-connection.js';
import {
  closeConnection,
  type Connection,
  type KeptConnections,
  openConnection,
} from '../net/kept-connections.js';
import { classifyResponse } from '../rules/classify-response.js';
import {
  deadlineReason,
  networkFaultSentence,
  type NetworkFaultReason,
} from '../rules/network-fault.js';
import { storedBody, storedHead } from '../rules/stored-response.js';
import type { Hook } from './hook-directory.js';
import type { Sent } from './sent.js';
import { createTargets, type Target, type TargetVerdict } from './targets.js';
import { storedRequestHead, type WebhookDelivery, webhookHeaders } from './webhook-request.js';

export interface WebhookSenderOptions {
  dialer: Dialer;
  kept: KeptConnections;
  /** Loaded at the first send: idle processes do without it. */
  loadClient: () => Promise<typeof Client>;
  /** One attempt, everything included. */
  deadlineMs: number;
  userAgent: string;
  /** Wall clock in milliseconds. */
  now: () => number;
}

export type SendWebhook = (
  delivery: WebhookDelivery,
  hook: Hook,
  /** Aborted by us: shutdown, or a lost lease; `reason` says which. */
  stop: AbortSignal,
) => Promise<Sent>;

type Ended =
  | Exchanged
  | Extract<Dialed, { ok: false; kind: 'forbidden' }>
  | { kind: 'deadline' }
  | { kind: 'stopped'; reason: string };

/**
 * Sends webhooks: one attempt a call, over in `deadlineMs` whatever the network does. A receiver's
 * fault is an outcome; only a fault of ours throws.
 */
export function createWebhookSender(options: WebhookSenderOptions): SendWebhook {
  const targetOf = createTargets(options.dialer.policy);
  return async (delivery, hook, stop) => {
    const startedAt = performance.now();
    const facts: AttemptFacts = {
      startedAt: new Date(options.now()).toISOString(),
      timings: { total: 0 },
    };
    const target = targetOf(hook.url);
    if (!target.ok) return refusedUrl(target, facts);
    const body = Buffer.from(delivery.job.body, 'utf8');
    const headers = webhookHeaders(delivery, hook, body, options.now(), options.userAgent);
    const request: HttpRequest = { path: target.path, headers, body };
    const progress: AnswerProgress = { phase: 'dns', timings: {}, anyByte: false, body: [] };
    const ended = await withinDeadline(options.deadlineMs, stop, (signal) =>
      deliver(delivery, target, request, progress, options, signal),
    );
    facts.timings = { ...progress.timings, total: Math.round(performance.now() - startedAt) };
    facts.requestHead = storedRequestHead(headers);
    return outcomeOf(ended, progress, facts, options.now());
  };
}

/**
 * Runs an attempt under one timer of ours over every phase. Its end is told at the deadline, not
 * when the network notices; the signal then destroys whatever is open.
 */
async function withinDeadline(
  deadlineMs: number,
  stop: AbortSignal,
  work: (signal: AbortSignal) => Promise<Ended>,
): Promise<Ended> {
  const attempt = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let onStop: (() => void) | undefined;
  const cutShort = new Promise<Ended>((resolve) => {
    timer = setTimeout(() => resolve({ kind: 'deadline' }), deadlineMs);
    onStop = () => resolve({ kind: 'stopped', reason: String(stop.reason) });
    stop.addEventListener('abort', onStop, { once: true });
    if (stop.aborted) onStop();
  });
  try {
    return await Promise.race([work(attempt.signal), cutShort]);
  } finally {
    clearTimeout(timer);
    if (onStop) stop.removeEventListener('abort', onStop);
    // With a reason of its own: without one Node makes an exception each time (2 % of the CPU, measured).
    attempt.abort('over');
  }
}

async function deliver(
  delivery: WebhookDelivery,
  target: Target,
  request: HttpRequest,
  progress: AnswerProgress,
  options: WebhookSenderOptions,
  signal: AbortSignal,
): Promise<Ended> {
  const { origin } = target;
  const key = `${delivery.job.hookId} ${origin}`;
  const kept = options.kept.take(key);
  if (kept) {
    const ended = await send(kept, key, request, progress, options, signal);
    // The peer had closed it and answered nothing: no try was made, so it is made now, once.
    if (ended.kind !== 'fault' || progress.anyByte || signal.aborted) return ended;
  }
  const dialed = await dial(target, options.dialer, progress, signal);
  if (!dialed.ok) {
    return dialed.kind === 'forbidden' ? dialed : { ...dialed, code: undefined };
  }
  const connection = openConnection(await options.loadClient(), origin, dialed.socket);
  return send(connection, key, request, progress, options, signal);
}

async function send(
  connection: Connection,
  key: string,
  request: HttpRequest,
  progress: AnswerProgress,
  options: WebhookSenderOptions,
  signal: AbortSignal,
): Promise<Ended> {
  const ended = await exchange(connection, request, progress, signal);
  if (ended.kind === 'answered' && ended.reusable) {
    // undici closes what must not be used again within this turn of the loop.
    setImmediate(() => {
      if (signal.aborted && connection.socket.destroyed) closeConnection(connection);
      else options.kept.keep(key, connection);
    });
  }
  return ended;
}

function refusedUrl(verdict: Extract<TargetVerdict, { ok: false }>, facts: AttemptFacts): Sent {
  const reason = verdict.message === GENERIC_REFUSAL ? 'forbidden_address' : 'invalid_url';
  return {
    outcome: { verdict: 'hold', reason, facts: { ...facts, message: verdict.message } },
    note: { refusal: verdict.reason },
  };
}

function outcomeOf(
  ended: Ended,
  progress: AnswerProgress,
  facts: AttemptFacts,
  nowMs: number,
): Sent {
  switch (ended.kind) {
    case 'stopped':
      // A complete head is an answer, whatever its body would have done.
      return progress.head
        ? { outcome: answered(progress, facts, nowMs) }
        : { outcome: { verdict: 'released', reason: ended.reason } };
    case 'forbidden':
      return forbidden(ended, facts);
    case 'answered':
      return { outcome: answered(progress, facts, nowMs) };
    case 'fault':
      return {
        outcome: failed(ended.reason, facts),
        ...(ended.code === undefined ? {} : { note: { code: ended.code } }),
      };
    case 'deadline':
      // A complete head is an answer, whatever its body does.
      return {
        outcome: progress.head
          ? answered(progress, facts, nowMs)
          : failed(deadlineReason(progress.phase), facts),
      };
  }
}

function answered(progress: AnswerProgress, facts: AttemptFacts, nowMs: number): AttemptOutcome {
  const { status = 0, fields = [] } = progress.head ?? {};
  const retryAfter = fields.find(([name]) => name.toLowerCase() === 'retry-after')?.[1];
  const result = classifyResponse(status, retryAfter, nowMs);
  const answeredFacts: AttemptFacts = Object.assign({}, facts, {
    status,
    responseHead: storedHead(fields),
    bodyExcerpt: storedBody(Buffer.concat(progress.body)),
  });
  if (result.verdict === 'delivered') return { verdict: 'delivered', facts: answeredFacts };
  const { message, ...rest } = result;
  return { ...rest, facts: { ...answeredFacts, message } };
}

function failed(reason: NetworkFaultReason, facts: AttemptFacts): AttemptOutcome {
  return {
    verdict: 'retry',
    reason,
    facts: { ...facts, message: networkFaultSentence(reason) },
  };
}

/** One generic sentence for the owner, and no timings: nobody maps the network inside by asking. */
function forbidden(ended: Extract<Ended, { kind: 'forbidden' }>, facts: AttemptFacts): Sent {
  return {
    outcome: {
      verdict: 'retry',
      reason: 'forbidden_address',
      facts: {
        startedAt: facts.startedAt,
        timings: { total: 0 },
        ...(facts.requestHead ? { requestHead: facts.requestHead } : {}),
        message: GENERIC_REFUSAL,
      },
    },
    note: { refusal: ended.reason, address: ended.address },
  };
}
