import type { AttemptFacts, AttemptOutcome } from '@ghost/contract';
import { explainRefusal, GENERIC_REFUSAL, type UrlReason } from '@ghost/policy';

import { Abort } from '../abort.js';
import { AnswerReader } from '../net/answer-reader.js';
import { dial, type Dialed, type Dialer, type DialProgress } from '../net/guarded-connection.js';
import { type Exchanged, HttpConnection } from '../net/http-connection.js';
import type { KeptConnections } from '../net/kept-connections.js';
import { requestBytes } from '../net/request-bytes.js';
import { classifyResponse } from '../rules/classify-response.js';
import {
  deadlineReason,
  networkFaultSentence,
  type NetworkFaultReason,
} from '../rules/network-fault.js';
import { hideEchoes } from '../rules/hide-echoes.js';
import { storedBody, storedHead } from '../rules/stored-response.js';
import type { Hook } from './hook-directory.js';
import type { Sent } from './sent.js';
import { createTargets, type Target, type TargetVerdict } from './targets.js';
import { storedRequestHead, type WebhookDelivery, webhookHeaders } from './webhook-request.js';

export interface WebhookSenderOptions {
  dialer: Dialer;
  kept: KeptConnections;
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
  stop: Abort,
) => Promise<Sent>;

const NO_TIMINGS: Pick<AttemptFacts, 'timings'> = { timings: { total: 0 } };

type Ended =
  | Exchanged
  | Extract<Dialed, { ok: false; kind: 'forbidden' }>
  | { kind: 'deadline' }
  | { kind: 'stopped'; reason: string };

/** What came of an attempt so far: written while it runs, so that its deadline can read it. */
interface Progress extends DialProgress {
  answer: AnswerReader;
}

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
    const target = targetOf(hook.url, hook.insecure);
    if (!target.ok) return refusedUrl(target, facts);
    const request = once((): SignedRequest => {
      const body = Buffer.from(delivery.job.body, 'utf8');
      const headers = webhookHeaders(delivery, hook, body, options.now(), options.userAgent);
      const { authority: host, path } = target;
      return { headers, bytes: requestBytes({ host, path, headers, body }) };
    });
    const progress: Progress = { phase: 'dns', timings: {}, answer: new AnswerReader() };
    // A connection whose certificate was not verified is of no use to one that asks for it.
    const key = `${delivery.job.hookId} ${target.origin}${hook.insecure ? ' insecure' : ''}`;
    const ended = await withinDeadline(options.deadlineMs, stop, (attempt) =>
      deliver(attempt, { target, key, request, progress }, options),
    );
    facts.timings = { ...progress.timings, total: Math.round(performance.now() - startedAt) };
    facts.requestHead = storedRequestHead(request().headers, hook);
    return outcomeOf(ended, progress, facts, options.now(), hook.headers);
  };
}

/**
 * Runs an attempt under one timer of ours over every phase. Its end is told at the deadline, not
 * when the network notices; whatever is open then is destroyed.
 */
function withinDeadline(
  deadlineMs: number,
  stop: Abort,
  work: (attempt: Abort) => Promise<Ended>,
): Promise<Ended> {
  return new Promise((resolve) => {
    const attempt = new Abort();
    const end = (tell: () => void) => {
      if (attempt.aborted) return;
      clearTimeout(timer);
      stop.onAbort(undefined);
      tell();
      attempt.abort('over');
    };
    const onStop = () => end(() => resolve({ kind: 'stopped', reason: stop.reason }));
    const timer = setTimeout(() => end(() => resolve({ kind: 'deadline' })), deadlineMs);
    stop.onAbort(onStop);
    if (stop.aborted) return;
    const done = work(attempt);
    const tell = () => end(() => resolve(done));
    done.then(tell, tell);
  });
}

interface SignedRequest {
  headers: Record<string, string>;
  bytes: Buffer;
}

interface Posting {
  target: Target;
  /** Of the connections that it may use again. */
  key: string;
  /** Made once, when it is first asked for. */
  request: () => SignedRequest;
  progress: Progress;
}

async function deliver(
  attempt: Abort,
  posting: Posting,
  { kept, dialer }: WebhookSenderOptions,
): Promise<Ended> {
  const { target, key, progress } = posting;
  let usable: HttpConnection | undefined;
  const acquired = kept.acquire(key);
  const known = acquired instanceof Promise ? await acquired : acquired;
  try {
    usable = known;
    // It was over while it waited: the connection is the next one's, and nothing is looked up.
    if (attempt.aborted) return { kind: 'deadline' };
    if (known !== undefined) {
      const ended = await post(known, attempt, posting);
      // The peer had closed it and answered nothing: no try was made, so it is made now, once.
      if (ended.kind !== 'fault' || progress.answer.started || attempt.aborted) return ended;
    }
    const dialing = dial(target, dialer, progress, attempt.signal);
    setImmediate(signMeanwhile, posting);
    const dialed = await dialing;
    if (!dialed.ok) return dialed;
    usable = new HttpConnection(dialed.socket);
    return await post(usable, attempt, posting);
  } finally {
    kept.release(key, target.authority, usable);
  }
}

/** To sign takes about as long as a near connection takes to open: 0.2 ms of a webhook under a light load (measured). */
function signMeanwhile({ request }: Posting): void {
  try {
    request();
  } catch {
    // Whoever sends it meets the same.
  }
}

function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}

async function post(
  connection: HttpConnection,
  attempt: Abort,
  { request, progress }: Posting,
): Promise<Exchanged> {
  const { bytes } = request();
  attempt.onAbort(() => connection.close());
  progress.phase = 'request';
  const sentAt = performance.now();
  const ended = await connection.post(bytes, progress.answer, () => {
    progress.timings.firstByte = Math.round(performance.now() - sentAt);
  });
  attempt.onAbort(undefined);
  return ended;
}

function refusedUrl(verdict: Extract<TargetVerdict, { ok: false }>, facts: AttemptFacts): Sent {
  const reason = verdict.message === GENERIC_REFUSAL ? 'forbidden_address' : 'invalid_url';
  return {
    outcome: { verdict: 'hold', reason, facts: { ...facts, message: verdict.message } },
    note: refusalNote(verdict.reason),
  };
}

function outcomeOf(
  ended: Ended,
  progress: Progress,
  facts: AttemptFacts,
  nowMs: number,
  own: Hook['headers'],
): Sent {
  switch (ended.kind) {
    case 'stopped':
      // A complete head is an answer, whatever its body would have done.
      return progress.answer.head
        ? { outcome: answered(progress, facts, nowMs, own) }
        : { outcome: { verdict: 'released', reason: ended.reason } };
    case 'forbidden':
      return forbidden(ended, facts);
    case 'answered':
      return { outcome: answered(progress, facts, nowMs, own) };
    case 'fault':
      return {
        outcome: failed(ended.reason, facts),
        ...(ended.code === undefined ? {} : { note: { code: ended.code } }),
      };
    case 'deadline':
      // A complete head is an answer, whatever its body does.
      return {
        outcome: progress.answer.head
          ? answered(progress, facts, nowMs, own)
          : failed(deadlineReason(progress.phase), facts),
      };
  }
}

function answered(
  progress: Progress,
  facts: AttemptFacts,
  nowMs: number,
  own: Hook['headers'],
): AttemptOutcome {
  const { status = 0, fields = [] } = progress.answer.head ?? {};
  const retryAfter = fields.find(([name]) => name.toLowerCase() === 'retry-after')?.[1];
  const result = classifyResponse(status, retryAfter, nowMs);
  const seen: AttemptFacts = Object.assign({}, facts, {
    status,
    responseHead: storedHead(fields),
    bodyExcerpt: storedBody(progress.answer.body),
  });
  const answeredFacts = hideEchoes(seen, own);
  if (result.verdict === 'delivered') return { verdict: 'delivered', facts: answeredFacts };
  const { message, ...rest } = result;
  return { ...rest, facts: { ...answeredFacts, message } };
}

function failed(reason: NetworkFaultReason, facts: AttemptFacts): AttemptOutcome {
  // What the way out did, and how long it took, tells of the network inside.
  const { timings } = reason === 'proxy_failed' ? NO_TIMINGS : facts;
  return {
    verdict: 'retry',
    reason,
    facts: { ...facts, timings, message: networkFaultSentence(reason) },
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
        ...NO_TIMINGS,
        ...(facts.requestHead ? { requestHead: facts.requestHead } : {}),
        message: GENERIC_REFUSAL,
      },
    },
    note: { ...refusalNote(ended.reason), address: ended.address },
  };
}

/** For the operator's log: why, and the setting that rules over it. */
function refusalNote(refusal: UrlReason | 'proxy_refused'): Record<string, unknown> {
  const setting =
    refusal === 'proxy_refused' ? 'GHOST_EGRESS_PROXY' : explainRefusal(refusal).setting;
  return { refusal, ...(setting === null ? {} : { setting }) };
}
