import type { AttemptOutcome, JobKind } from '@ghost/contract';
import { isDatabaseOutage, isLockTimeout } from '@ghost/db';
import type { Claim, ClaimedJob, Settled, Settlement } from '@ghost/queue';
import type { Logger } from 'pino';

import type { Abort } from './abort.js';
import type { Held, InHand } from './pump/in-hand.js';
import type { Settler } from './pump/settler.js';
import { weighing } from './pump/weight.js';
import { reportAttempt, type ReportTo } from './report-attempt.js';
import { type Decision, decide, type RetryPolicy } from './rules/decide.js';
import type { Sent } from './send/sent.js';

/** Brings together what a claimed batch needs, of which `beside` came with the claim, and sends each of its jobs. */
export type PrepareBatch = (jobs: readonly ClaimedJob[], beside: unknown) => Promise<SendOne>;
export type SendOne = (job: ClaimedJob, stop: Abort) => Promise<Sent>;

/** With less of its lease left, an extension might come too late: another worker would send it too. */
const LEAST_LEASE_MS = 250;

export interface DeliveryParts {
  inHand: InHand;
  settler: Settler;
  prepare: PrepareBatch;
  policy: RetryPolicy;
  /** The relay rests: told before its jobs are given back. */
  restRelay?: (reason: string) => Promise<void>;
  /** What the end of a mail means for its address. */
  suppress?: (job: ClaimedJob, decision: Extract<Decision, { action: 'settle' }>) => Promise<void>;
  /** `pending`: the job will be due again. */
  onSettled: (pending: boolean) => void;
  onAttempt: (kind: JobKind, outcome: string, reason: string) => void;
  /** A try that tells against its destination, or held it, was settled. */
  onFault?: ReportTo['onFault'];
  now: () => number;
  random: () => number;
  log: Logger;
}

/** The whole flow: what was claimed is sent, judged and settled, each job by itself. */
export function deliver(claim: Claim, parts: DeliveryParts): void {
  const weigh = weighing();
  const held = claim.jobs.map((job) => parts.inHand.take(job, weigh(job)));
  const ready = new Set(held.filter((one) => whyNotNow(one) === null));
  const send = prepared(
    Array.from(ready, ({ claimed }) => claimed),
    claim.beside,
    parts,
  );
  for (const one of held) void deliverOne(one, ready.has(one) ? send : null, parts);
  for (const { error, ...lease } of claim.unreadable) {
    parts.log.error({ event: 'delivery.unreadable_job', jobId: lease.id, lane: lease.lane, error });
    void parts.settler
      .settle({ ...lease, ...UNREADABLE })
      .then((settled) => parts.onSettled(settled?.status === 'pending'));
  }
}

/** `send` is null for what is given back unsent. */
async function deliverOne(
  held: Held,
  send: Promise<SendOne> | null,
  parts: DeliveryParts,
): Promise<void> {
  const startedAt = performance.now();
  const { claimed } = held;
  const { outcome, note } = await attempt(held, send, parts);
  parts.inHand.settling(held);
  try {
    const decision = decide(stateOf(claimed), outcome, parts.policy, parts.now(), parts.random);
    const settled = await record(held, outcome, decision, parts);
    const tookMs = performance.now() - startedAt;
    reportAttempt({ claimed, outcome, decision, settled, tookMs, note }, parts);
  } catch (error) {
    parts.log.error({ event: 'delivery.failed', jobId: claimed.id, err: error });
  } finally {
    parts.inHand.drop(held);
  }
}

async function attempt(
  held: Held,
  send: Promise<SendOne> | null,
  parts: DeliveryParts,
): Promise<Sent> {
  try {
    const sendOne = await send;
    const reason = whyNotNow(held);
    if (sendOne === null || reason !== null) return released(reason ?? 'lease_too_short');
    return await sendOne(held.claimed, held.stop);
  } catch (error) {
    if (isDatabaseOutage(error) || isLockTimeout(error)) return released('database_unavailable');
    parts.log.error({ event: 'delivery.attempt_threw', jobId: held.claimed.id, err: error });
    const startedAt = new Date(parts.now()).toISOString();
    const message = 'Something went wrong on our side.';
    const facts = { startedAt, timings: { total: 0 }, message };
    return { outcome: { verdict: 'retry', reason: 'internal_error', facts } };
  }
}

/** Writes what was decided; null when it did not count, or nothing was to be written. */
async function record(
  held: Held,
  outcome: AttemptOutcome,
  decision: Decision,
  { settler, restRelay, suppress, onSettled, log }: DeliveryParts,
): Promise<Settled | null> {
  const { claimed } = held;
  const failed = (event: string) => (error: unknown) =>
    log.error({ event, jobId: claimed.id, err: error });
  const rests =
    outcome.verdict === 'relay_paused' || (outcome.verdict === 'retry' && outcome.restsRelay);
  if (rests) {
    await restRelay?.(outcome.reason).catch(failed('delivery.rest_relay_failed'));
  }
  if (decision.action === 'release') {
    // Of a lost lease too: where nobody has the job yet it need not wait, the fence tells.
    await settler.release(held);
    onSettled(true);
    return null;
  }
  if (decision.suppression && suppress) {
    // First: a process that died between the two would forget it, while a second note changes nothing.
    const noted = await settler.keep(() => suppress(claimed, decision));
    if (noted.state !== 'written') failed('delivery.suppress_failed')(noted.error);
    // The lease runs out, and the relay says it again.
    if (noted.state === 'given_up') return null;
  }
  const settled = await settler.settle(settlementOf(claimed, decision));
  onSettled(settled?.status === 'pending');
  return settled;
}

async function prepared(
  jobs: readonly ClaimedJob[],
  beside: unknown,
  parts: DeliveryParts,
): Promise<SendOne> {
  if (jobs.length === 0) return async () => released('nothing_claimed');
  return parts.prepare(jobs, beside);
}

/** Why a job must not be sent by us now; null when it may. */
function whyNotNow({ stop, leaseEndsAt }: Held): string | null {
  if (stop.aborted) return stop.reason;
  return leaseEndsAt - performance.now() < LEAST_LEASE_MS ? 'lease_too_short' : null;
}

function released(reason: string): Sent {
  return { outcome: { verdict: 'released', reason } };
}

/** Our fault and lasting: nothing of it is sent, and a person may ask for it again once it is mended. */
const UNREADABLE = {
  outcome: 'dead',
  reason: 'unreadable_job',
  charged: false,
  delayMs: 0,
  attempt: null,
} as const satisfies Partial<Settlement>;

function stateOf(claimed: ClaimedJob) {
  const { kind, attempts, expiresAtMs } = claimed;
  return { kind, attempts, expiresAtMs };
}

function settlementOf(
  { id, leaseNo, lane, version }: ClaimedJob,
  {
    outcome,
    reason,
    charged,
    delayMs,
    laneRestMs,
    laneFault,
    attempt,
  }: Extract<Decision, { action: 'settle' }>,
): Settlement {
  return {
    id,
    leaseNo,
    lane,
    version,
    outcome,
    reason,
    charged,
    delayMs,
    ...(laneRestMs === undefined ? {} : { laneRestMs }),
    ...(laneFault === undefined ? {} : { laneFault }),
    attempt,
  };
}
