import {
  type AttemptFacts,
  type AttemptOutcome,
  assertNever,
  type JobKind,
  type Suppression,
} from '@ghost/contract';

import { type Backoff, retryDelayMs } from './retry-delay.js';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** What enqueue and redelivery give a job to live: `expires_at`. */
const JOB_LIFE_MS = 7 * 24 * HOUR_MS;
/** A mail about a comment that is older than this helps nobody. */
export const MAIL_BUDGET_MS = 48 * HOUR_MS;
export const MAIL_BACKOFF: Backoff = { baseMs: MINUTE_MS, capMs: 4 * HOUR_MS };

/** A mail that the relay knew when it failed waits so long, so that others are tried first and it rests for it seldom. */
export const PUT_BACK_MS = 30_000;

/** Reasons that are tried only so often, with a back-off of their own. */
const FEW: Record<string, { tries: number; atLeastMs: number; backoff: Backoff } | undefined> = {
  // The reader may have the mail already: each try risks a second copy.
  uncertain: { tries: 4, atLeastMs: 30 * MINUTE_MS, backoff: { baseMs: HOUR_MS, capMs: HOUR_MS } },
  mailbox_full: { tries: 5, atLeastMs: 0, backoff: { baseMs: HOUR_MS, capMs: 8 * HOUR_MS } },
};

/** The destination kept a slot for as long as it may: its lane gets no more than one until it answers. */
const TIMED_OUT: ReadonlySet<string> = new Set([
  'dns_timeout',
  'connection_timeout',
  'tls_timeout',
  'response_timeout',
]);
/** Tells nothing of the destination. */
const OUR_FAULT = 'internal_error';

/** What a job that dies of a reason does to its address. */
const SUPPRESSED_AT_THE_END: Record<string, Suppression | undefined> = {
  domain_unknown: 'hard',
  mailbox_full: 'soft',
};

/** The part of a claimed job that decides. */
export interface Attempted {
  kind: JobKind;
  /** Charged tries before this one, since enqueue or the last redelivery. */
  attempts: number;
  expiresAtMs: number;
}

export interface RetryPolicy {
  webhook: Backoff & { maxAttempts: number };
}

export type Decision =
  | {
      action: 'settle';
      outcome: 'delivered' | 'retry' | 'dead' | 'held' | 'cancelled' | 'relay_paused';
      reason: string | null;
      charged: boolean;
      delayMs: number;
      laneRestMs?: number;
      /** What it tells of the destination. */
      laneFault?: 'failed' | 'timed_out';
      attempt: AttemptFacts | null;
      /** For mail: what the end of this job means for its address. */
      suppression?: Suppression;
    }
  | { action: 'release'; reason: string };

/** What an outcome means for the job: pure, so that every rule of retrying is a test without a queue. */
export function decide(
  job: Attempted,
  outcome: AttemptOutcome,
  policy: RetryPolicy,
  nowMs: number,
  random: () => number,
): Decision {
  switch (outcome.verdict) {
    case 'delivered':
      return settled('delivered', null, outcome.facts);
    case 'dead':
      return settled('dead', outcome.reason, outcome.facts, suppressionOf(outcome));
    case 'hold':
      // Nothing was sent when there are no facts, so nothing is charged.
      return {
        ...settled('held', outcome.reason, outcome.facts),
        charged: outcome.facts !== null,
      };
    case 'cancelled':
      return { ...settled('cancelled', outcome.reason, null), charged: false };
    case 'relay_paused':
      if (!outcome.putBack) return { action: 'release', reason: outcome.reason };
      return {
        ...settled('relay_paused', outcome.reason, outcome.facts),
        charged: false,
        delayMs: PUT_BACK_MS,
      };
    case 'released':
      return { action: 'release', reason: outcome.reason };
    case 'retry':
      return job.kind === 'webhook'
        ? retryWebhook(job, outcome, policy.webhook, random)
        : retryMail(job, outcome, nowMs, random);
    default:
      return assertNever(outcome);
  }
}

type Retry = Extract<AttemptOutcome, { verdict: 'retry' }>;
type Settle = Extract<Decision, { action: 'settle' }>;

function settled(
  outcome: Settle['outcome'],
  reason: string | null,
  attempt: AttemptFacts | null,
  suppression?: Suppression,
): Settle {
  return {
    action: 'settle',
    outcome,
    reason,
    charged: true,
    delayMs: 0,
    attempt,
    ...(suppression === undefined ? {} : { suppression }),
  };
}

function suppressionOf(outcome: Extract<AttemptOutcome, { verdict: 'dead' }>) {
  if (outcome.suppress !== undefined) return 'hard';
  return outcome.reason === 'refused' ? 'strike' : undefined;
}

function retryWebhook(
  job: Attempted,
  outcome: Retry,
  policy: RetryPolicy['webhook'],
  random: () => number,
): Settle {
  const tries = job.attempts + 1;
  const lane = {
    ...(outcome.slowsLane ? { laneRestMs: outcome.retryAfterMs ?? policy.baseMs } : {}),
    ...laneFault(outcome.reason),
  };
  if (tries >= policy.maxAttempts) {
    const facts = withNote(outcome.facts, `It was try ${tries} of ${policy.maxAttempts}.`);
    return { ...settled('dead', 'attempts_exhausted', facts), ...lane };
  }
  const delayMs = Math.max(retryDelayMs(tries, policy, random), outcome.retryAfterMs ?? 0);
  return { ...settled('retry', outcome.reason, outcome.facts), delayMs, ...lane };
}

function laneFault(reason: string): Pick<Settle, 'laneFault'> {
  if (reason === OUR_FAULT) return {};
  return { laneFault: TIMED_OUT.has(reason) ? 'timed_out' : 'failed' };
}

/** A 4xx speaks of one recipient (greylisting defers each one's first mail), so it opens no breaker of the domain. */
function retryMail(job: Attempted, outcome: Retry, nowMs: number, random: () => number): Settle {
  const tries = job.attempts + 1;
  const few = FEW[outcome.reason];
  const atTheEnd = SUPPRESSED_AT_THE_END[outcome.reason];
  if (few !== undefined && tries >= few.tries) {
    const facts = withNote(outcome.facts, `It was try ${tries}.`);
    return settled('dead', outcome.reason, facts, atTheEnd);
  }
  const drawnMs = retryDelayMs(tries, few?.backoff ?? MAIL_BACKOFF, random);
  const delayMs = Math.max(drawnMs, few?.atLeastMs ?? 0);
  const budgetEndsMs = job.expiresAtMs - JOB_LIFE_MS + MAIL_BUDGET_MS;
  if (nowMs + delayMs >= budgetEndsMs) {
    const facts = withNote(outcome.facts, 'It was tried for 48 hours.');
    // The reason stays the last fault's where that says more, as it does for the address.
    return settled(
      'dead',
      atTheEnd === undefined ? 'time_exhausted' : outcome.reason,
      facts,
      atTheEnd,
    );
  }
  return { ...settled('retry', outcome.reason, outcome.facts), delayMs };
}

function withNote(facts: AttemptFacts, note: string): AttemptFacts {
  return { ...facts, message: facts.message === undefined ? note : `${facts.message} ${note}` };
}
