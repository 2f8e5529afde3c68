import { assertNever } from '@ghost/contract';
import type { schema } from '@ghost/db';
import { holdOf } from '@ghost/operations';

const MINUTE_S = 60;
const HOUR_S = 3600;
const DAY_S = 86_400;
/** Up to there the smaller unit is used: "90 min" says more than "2 h". */
const UNITS_OF_THE_SMALLER = 2;

/** Where a delivery stands. */
export interface JobNow
  extends Pick<
    typeof schema.deliveryJob.$inferSelect,
    /** `attempts`: charged tries of the current budget. */
    'status' | 'lastError' | 'attempts' | 'runAt' | 'expiresAt'
  > {
  /** A worker holds it. */
  inFlight: boolean;
}

/** What its hook's lane says to it. */
export type LaneNow = Pick<
  typeof schema.deliveryLane.$inferSelect,
  'heldReason' | 'heldAt' | 'notBefore' | 'perMinute'
>;

export interface NextStep {
  /** When it is tried next; null when it is not, or nobody knows. */
  at: Date | null;
  /** One sentence. */
  message: string;
}

/**
 * What happens next to a delivery.
 * @param job - null: it is kept no longer
 * @param maxAttempts - of a webhook, before it is given up
 */
export function nextStep(
  job: JobNow | null,
  lane: LaneNow | null,
  { maxAttempts, now }: { maxAttempts: number; now: Date },
): NextStep {
  if (job === null) return nothing('The delivery is kept no longer.');
  switch (job.status) {
    case 'delivered':
      return nothing('It was delivered.');
    case 'dead':
      return nothing(`It was given up${because(job)}. Send it again once its cause is mended.`);
    case 'cancelled':
      return nothing(`It was cancelled${because(job)}.`);
    case 'pending':
      return whenAgain(job, lane, { maxAttempts, now });
    default:
      return assertNever(job.status);
  }
}

function whenAgain(
  job: JobNow,
  lane: LaneNow | null,
  { maxAttempts, now }: { maxAttempts: number; now: Date },
): NextStep {
  const attempt = `attempt ${job.attempts + 1} of ${maxAttempts}`;
  if (job.inFlight) return nothing(`It is being sent now, ${attempt}.`);
  const hold = holdOf(lane?.heldReason ?? null, lane?.heldAt ?? null);
  if (hold !== null) {
    const until = job.expiresAt.toISOString();
    return nothing(`It waits until the hook is resumed, till ${until} at most. ${hold.message}`);
  }
  const at = new Date(Math.max(job.runAt.getTime(), lane?.notBefore?.getTime() ?? 0));
  const waitS = (at.getTime() - now.getTime()) / 1000;
  // Behind how many others is not known here: with one a minute the last of ten is ten minutes away.
  if (waitS <= 0 && lane?.perMinute != null) {
    return nothing(
      `It is sent in its turn, of which the hook takes ${lane.perMinute} a minute at most, ${attempt}.`,
    );
  }
  if (waitS <= 0) return { at, message: `It is sent as soon as there is room, ${attempt}.` };
  return { at, message: `Again in about ${duration(waitS)}, ${attempt}.` };
}

function nothing(message: string): NextStep {
  return { at: null, message };
}

function because({ lastError }: JobNow): string {
  return lastError === null ? '' : ` (${lastError})`;
}

/** `40 s`, `4 min`, `3 h`, `5 days`. */
function duration(seconds: number): string {
  if (seconds < UNITS_OF_THE_SMALLER * MINUTE_S) return `${Math.max(1, Math.round(seconds))} s`;
  if (seconds < UNITS_OF_THE_SMALLER * HOUR_S) return `${Math.round(seconds / MINUTE_S)} min`;
  if (seconds < UNITS_OF_THE_SMALLER * DAY_S) return `${Math.round(seconds / HOUR_S)} h`;
  return `${Math.round(seconds / DAY_S)} days`;
}
