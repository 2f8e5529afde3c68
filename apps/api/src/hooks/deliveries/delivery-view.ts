import { assertNever } from '@ghost/contract';
import * as z from 'zod';

import type { FoundAttempt, ListedAttempt } from './delivery-rows.js';
import type { NextStep } from './next-step.js';

const OF_NO_KNOWN_EVENT = 'unknown';

const time = z.iso.datetime();
const milliseconds = z.number().nullable();
const head = z.record(z.string(), z.string()).nullable();

/** An attempt, in GitHub's shape: one row for each time that a delivery was sent, or could not be. */
export const deliveryItemAnswer = z
  .object({
    id: z.int(),
    /** The id of the delivery: the same on each attempt and redelivery, and in `x-ghost-delivery`. */
    guid: z.string(),
    delivered_at: time,
    /** Somebody asked for it again before. */
    redelivery: z.boolean(),
    /** In seconds. */
    duration: z.number(),
    /** `OK`, or a code that says why it was not delivered. */
    status: z.string(),
    /** 0 when no answer came. */
    status_code: z.int(),
    event: z.string(),
    action: z.string().nullable(),
    installation_id: z.null(),
    repository_id: z.int(),
    throttled_at: z.null(),
  })
  .meta({ id: 'HookDeliveryItem' });
export type DeliveryItemAnswer = z.infer<typeof deliveryItemAnswer>;

export const deliveryAnswer = deliveryItemAnswer
  .extend({
    request: z.object({
      /** As they were sent; credentials are redacted. Null when nothing was sent. */
      headers: head,
      /** Null when it is kept no longer, or holds the text of a deleted comment. */
      payload: z.record(z.string(), z.unknown()).nullable(),
    }),
    response: z.object({
      headers: head,
      /** Its first 16 KiB as text. */
      payload: z.string().nullable(),
    }),
    /** What GitHub has no fields for. */
    explanation: z.object({
      /** `delivered`, `retry`, `dead`, `held`, `cancelled`, `relay_paused` or `abandoned`. */
      outcome: z.string(),
      /** Why, for programs; null when it was delivered. */
      reason: z.string().nullable(),
      /** Why, in a sentence. */
      message: z.string(),
      /** Which try of the delivery this was, from 1; null when none was counted. */
      attempt: z.int().nullable(),
      /** The event that it tells of; null when it is kept no longer. */
      event_id: z.string().nullable(),
      /** Milliseconds of each phase; null where it did not come so far. */
      timings: z
        .object({
          dns: milliseconds,
          connect: milliseconds,
          tls: milliseconds,
          first_byte: milliseconds,
          total: milliseconds,
        })
        .nullable(),
      /** What happens next to the delivery. */
      next: z.object({ at: time.nullable(), message: z.string() }),
    }),
  })
  .meta({ id: 'HookDelivery' });
export type DeliveryAnswer = z.infer<typeof deliveryAnswer>;

export function deliveryItemView(attempt: ListedAttempt): DeliveryItemAnswer {
  const { outcome, event } = attempt;
  return {
    id: attempt.id,
    guid: attempt.jobId,
    delivered_at: attempt.finishedAt.toISOString(),
    redelivery: attempt.redelivery,
    duration: (attempt.totalMs ?? 0) / 1000,
    status: outcome === 'delivered' ? 'OK' : (attempt.reason ?? outcome),
    status_code: attempt.status ?? 0,
    event: event ?? OF_NO_KNOWN_EVENT,
    action: event?.split('.', 2)[1] ?? null,
    installation_id: null,
    repository_id: attempt.repositoryId,
    throttled_at: null,
  };
}

export function deliveryView(attempt: FoundAttempt, next: NextStep): DeliveryAnswer {
  return {
    ...deliveryItemView(attempt),
    request: {
      headers: headOf(attempt.requestHead),
      payload: attempt.requestBody === null ? null : objectOf(attempt.requestBody),
    },
    response: { headers: headOf(attempt.responseHead), payload: attempt.responseBody },
    explanation: {
      outcome: attempt.outcome,
      reason: attempt.reason,
      message: attempt.message ?? sentenceOf(attempt),
      attempt: attempt.number,
      event_id: attempt.eventId,
      timings: timingsOf(attempt.timings),
      next: { at: next.at?.toISOString() ?? null, message: next.message },
    },
  };
}

/** What ended a delivery that nobody's answer ended. */
const WHY_CANCELLED: Readonly<Record<string, string | undefined>> = {
  comment_deleted: 'Its comment was deleted, and its text is sent no more.',
  // By the people of the hook, or by the operator.
  discarded: 'It was discarded, and is not sent.',
  hook_inactive: 'The hook was made inactive before it was sent.',
};

/** Where delivery wrote none. */
function sentenceOf({ outcome, reason, status }: FoundAttempt): string {
  const why = reason === null ? '' : ` (${reason})`;
  switch (outcome) {
    case 'delivered':
      return `The endpoint took it: it answered ${status ?? 'with a success'}.`;
    case 'retry':
    case 'dead':
      return `It was not delivered${why}.`;
    case 'held':
      return `The hook was held${why}.`;
    case 'cancelled':
      return WHY_CANCELLED[reason ?? ''] ?? `It was not sent${why}.`;
    case 'relay_paused':
    case 'abandoned':
      return `It was broken off${why}.`;
    default:
      return assertNever(outcome);
  }
}

function timingsOf(timings: unknown): DeliveryAnswer['explanation']['timings'] {
  if (typeof timings !== 'object' || timings === null) return null;
  const of = (phase: string) => {
    const taken: unknown = Reflect.get(timings, phase);
    return typeof taken === 'number' ? taken : null;
  };
  return {
    dns: of('dns'),
    connect: of('connect'),
    tls: of('tls'),
    first_byte: of('firstByte'),
    total: of('total'),
  };
}

/** What delivery wrote: names and values. */
function headOf(stored: unknown): Record<string, string> | null {
  return typeof stored === 'object' && stored !== null ? (stored as Record<string, string>) : null;
}

/** The body of every webhook is an object. */
function objectOf(body: string): Record<string, unknown> {
  return JSON.parse(body) as Record<string, unknown>;
}
