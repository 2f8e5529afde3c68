import * as z from 'zod';

import type { NextStep } from '../deliveries/next-step.js';
import type { SkippedRow, WaitingRow } from './undelivered-rows.js';

const time = z.iso.datetime();

/** A delivery that is pending: not tried yet, or to be tried again. */
export const waitingAnswer = z
  .object({
    /** Of the delivery, as in `x-ghost-delivery`. */
    guid: z.string(),
    event_id: z.string().nullable(),
    event: z.string().nullable(),
    created_at: time,
    redelivery: z.boolean(),
    /** Tries that were made so far. */
    attempts: z.int(),
    /** Why the newest try was no success; null when there was none. */
    last_error: z.string().nullable(),
    next: z.object({ at: time.nullable(), message: z.string() }),
  })
  .meta({ id: 'WaitingDelivery' });
export type WaitingAnswer = z.infer<typeof waitingAnswer>;

/** An event of the repository that the hook does not get. */
export const skippedAnswer = z
  .object({
    event_id: z.string(),
    event: z.string(),
    skipped_at: time,
    /** `inactive`, `not_subscribed`, `filtered`, `recursion`, `comment_deleted` or `held_full`. */
    reason: z.string(),
    message: z.string(),
  })
  .meta({ id: 'SkippedEvent' });
export type SkippedAnswer = z.infer<typeof skippedAnswer>;

const WHY_SKIPPED: Readonly<Record<string, string | undefined>> = {
  filtered: 'It does not pass the filters of the hook.',
  recursion: 'What the hook was sent before led to it, so that sending it might never end.',
  'recursion/too_long':
    'What hooks were sent led to it, over more hooks in a row than are allowed.',
  inactive: 'The hook was not active.',
  not_subscribed: 'The hook does not ask for this event.',
  held_full:
    'The hook was held, and kept as many deliveries as it may. Resume it, or discard what it keeps.',
  comment_deleted: 'The comment was deleted before it could be sent.',
};

export function waitingView(row: WaitingRow, next: NextStep): WaitingAnswer {
  return {
    guid: row.jobId,
    event_id: row.eventId,
    event: row.event,
    created_at: row.createdAt.toISOString(),
    redelivery: row.redelivery,
    attempts: row.tries,
    last_error: row.job.lastError,
    next: { at: next.at?.toISOString() ?? null, message: next.message },
  };
}

export function skippedView({ eventId, event, createdAt, ...why }: SkippedRow): SkippedAnswer {
  return {
    event_id: eventId,
    event,
    skipped_at: createdAt.toISOString(),
    reason: why.reason,
    message: whySkipped(why),
  };
}

/** One sentence. */
export function whySkipped({ reason, detail }: Pick<SkippedRow, 'reason' | 'detail'>): string {
  if (reason === 'filtered' && detail !== null) {
    return `It does not pass the filter of the hook on "${detail}".`;
  }
  return WHY_SKIPPED[`${reason}/${detail}`] ?? WHY_SKIPPED[reason] ?? `It was left out: ${reason}.`;
}
