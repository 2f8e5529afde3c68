/**
 * Leases are extended when they have lost a third: a statement that is given up after as long again leaves
 * time for one more before others may have the jobs.
 */
const STATEMENTS_A_LEASE = 3;
/** Under load no statement takes seconds. */
const LEAST_MS = 4_000;
const LONGEST_MS = 40_000;

/** A lane is held for milliseconds: one that is for longer must not hold up what goes to other lanes. */
export const LOCK_WITHIN_MS = 500;

/** How long a statement may be without an answer before its connection counts as dead. */
export function answerWithinMs(leaseMs: number): number {
  return Math.min(LONGEST_MS, Math.max(LEAST_MS, Math.round(leaseMs / STATEMENTS_A_LEASE)));
}
