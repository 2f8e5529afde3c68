import type { AttemptOutcome, JobKind } from '@ghost/contract';
import type { ClaimedJob, Settled } from '@ghost/queue';
import type { Logger } from 'pino';

import type { Decision } from './rules/decide.js';
import type { Sent } from './send/sent.js';

export interface AttemptReport {
  claimed: ClaimedJob;
  outcome: AttemptOutcome;
  decision: Decision;
  /** Null when nothing was written, or what was written did not count. */
  settled: Settled | null;
  tookMs: number;
  note: Sent['note'];
}

export interface ReportTo {
  log: Logger;
  onAttempt: (kind: JobKind, outcome: string, reason: string) => void;
  /** Hears of what counted and tells against its destination, or held it. */
  onFault?: ((report: AttemptReport) => void) | undefined;
}

/** One log line and one count an attempt; never a URL, secret or content. */
export function reportAttempt(report: AttemptReport, { log, onAttempt, onFault }: ReportTo): void {
  const { claimed, outcome, decision, settled, note } = report;
  const settles = decision.action === 'settle';
  const state = settles ? decision.outcome : 'released';
  const status = 'facts' in outcome ? outcome.facts?.status : undefined;
  onAttempt(claimed.kind, state, decision.reason ?? 'none');
  // Refused for what we are, not for whom we write to: someone must look.
  const level = note?.['alarm'] === true ? 'error' : 'info';
  log[level]({
    event: 'delivery.attempted',
    jobId: claimed.id,
    eventId: claimed.eventId,
    lane: claimed.lane,
    kind: claimed.kind,
    attempt: claimed.tries + 1,
    outcome: state,
    reason: decision.reason,
    ...(status === undefined ? {} : { status }),
    ms: Math.round(report.tookMs),
    ...(settles && decision.outcome === 'retry' ? { retryInMs: decision.delayMs } : {}),
    // The job was claimed anew or cancelled meanwhile: this result changed nothing.
    ...(settles && settled === null ? { fenced: true } : {}),
    ...note,
  });
  if (!settles || settled === null) return;
  if (decision.laneFault !== undefined || decision.outcome === 'held') onFault?.(report);
}
