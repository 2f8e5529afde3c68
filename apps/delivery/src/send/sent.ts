import type { AttemptOutcome } from '@ghost/contract';

/** What a sender hands back: the outcome, and what only the operator's log may say of it. */
export interface Sent {
  outcome: AttemptOutcome;
  note?: Record<string, unknown>;
}
