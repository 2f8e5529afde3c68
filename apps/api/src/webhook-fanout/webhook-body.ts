import { toStorableJson } from '@ghost/contract';

import type { FanoutEvent } from '../outbox/fanout-consumer.js';

/** What GitHub caps payloads at; comments are bounded, so only a fault of ours gets there. */
const MAX_BODY_BYTES = 25 * 1024 * 1024;

/**
 * The one body that all hooks of an event get, serialised once: its bytes are signed and sent on
 * every attempt. The event's id, type and time come first and win over fields of the same names.
 * @throws when it is larger than any event can be
 */
export function webhookBody(event: FanoutEvent): string {
  const envelope = { id: event.id, event: event.type, created_at: event.createdAt.toISOString() };
  const body = toStorableJson({ ...envelope, ...(event.payload as object), ...envelope });
  const bytes = Buffer.byteLength(body);
  if (bytes > MAX_BODY_BYTES) {
    throw new Error(
      `The webhook body of "${event.type}" has ${bytes} bytes; at most ${MAX_BODY_BYTES} are sent.`,
    );
  }
  return body;
}
