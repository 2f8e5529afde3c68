import * as z from 'zod';

import type { NextStep } from '../deliveries/next-step.js';
import { whySkipped } from '../undelivered/undelivered-view.js';
import type { HookEvent } from './hook-event-rows.js';

const time = z.iso.datetime();

/** What became of an event for one hook. */
export const hookEventAnswer = z
  .object({
    event_id: z.string(),
    event: z.string(),
    created_at: time,
    /**
     * `undecided`: fan-out has not come to it; `set_aside`: fan-out failed, and an operator is to look; `skipped`;
     * `pending`, `delivered`, `dead` or `cancelled`, as its delivery is; `unknown`: nothing is known of it here.
     */
    state: z.enum([
      'undecided',
      'set_aside',
      'skipped',
      'pending',
      'delivered',
      'dead',
      'cancelled',
      'unknown',
    ]),
    /** Of its delivery, as in `x-ghost-delivery`; null when there is none. */
    guid: z.string().nullable(),
    redelivery: z.boolean(),
    /** Tries that were made so far; `…/deliveries?guid=` shows them. */
    attempts: z.int(),
    /** Why it was skipped, or why the newest try was no success. */
    reason: z.string().nullable(),
    message: z.string(),
    /** When it is tried next; null when it is not, or nobody knows. */
    next_at: time.nullable(),
  })
  .meta({ id: 'HookEvent' });
export type HookEventAnswer = z.infer<typeof hookEventAnswer>;

/** @param next - of its delivery */
export function hookEventView(found: HookEvent, next: NextStep): HookEventAnswer {
  const { job } = found;
  return {
    event_id: found.eventId,
    event: found.event,
    created_at: found.createdAt.toISOString(),
    guid: job?.id ?? null,
    redelivery: job?.redelivery ?? false,
    attempts: job?.tries ?? 0,
    ...(job === null
      ? { ...withoutDelivery(found), next_at: null }
      : {
          state: job.status,
          reason: job.lastError,
          message: next.message,
          next_at: next.at?.toISOString() ?? null,
        }),
  };
}

function withoutDelivery({
  skip,
  fanout,
}: HookEvent): Pick<HookEventAnswer, 'state' | 'reason' | 'message'> {
  if (skip !== null) {
    return { state: 'skipped', reason: skip.reason, message: whySkipped(skip) };
  }
  if (fanout?.setAsideAt != null) {
    const message = 'Who gets it could not be decided: an operator has to try it again.';
    return { state: 'set_aside', reason: null, message };
  }
  if (fanout !== null && fanout.doneAt === null) {
    const message = 'It is not decided yet who gets it.';
    return { state: 'undecided', reason: null, message };
  }
  const message = 'The hook was not there when it was decided who gets it.';
  return { state: 'unknown', reason: null, message };
}
