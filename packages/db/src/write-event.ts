import {
  CONSUMERS,
  EVENT_SCHEMAS,
  EVENT_VERSION,
  type EventPayload,
  type NewEvent,
  toStorableJson,
} from '@ghost/contract';
import type { PoolClient } from 'pg';
import { uuidv7 } from 'uuidv7';

import { OUTBOX_CHANNEL } from './listener.js';

/** A payload that is not of its event's type: the caller's fault, thrown before anything is written. */
export class EventPayloadError extends Error {
  override readonly name = 'EventPayloadError';
}

/** The hooks whose deliveries led somebody to call the API, the first one first. */
export interface HookChain {
  /** Where they are hooks: what happens in another repository, they did not lead to. */
  repositoryId: number;
  hookIds: readonly number[];
}

const WRITE_EVENT = `
  WITH event AS (
    INSERT INTO outbox_event (id, type, version, repository_id, comment_id, payload, hook_chain)
    VALUES ($1, $2, $3, $4, $5, $6::jsonb, $9::bigint[])
    RETURNING id
  ), progress AS (
    INSERT INTO outbox_progress (event_id, consumer)
    SELECT event.id, consumer FROM event, unnest($7::text[]) AS consumer
  )
  SELECT pg_notify($8, '') FROM event`;

/**
 * Writes an event and a progress row for each consumer in the transaction that is open on a connection, and
 * wakes the outbox when that commits. One statement, one round trip; the NOTIFY carries no payload, so its
 * 8,000-byte bound cannot fail the caller's write.
 * @param cause - what led to the request that caused it, where that is known
 * @returns the event's id (uuid v7)
 * @throws EventPayloadError when the payload does not fit its type
 */
export async function writeEvent(
  client: PoolClient,
  event: NewEvent,
  cause: HookChain | null = null,
): Promise<string> {
  const checked = EVENT_SCHEMAS[event.type].safeParse(event.payload);
  if (!checked.success) {
    throw new EventPayloadError(
      `The payload of "${event.type}" does not fit its type: ${checked.error.issues
        .map((issue) => `${issue.path.join('.')}: ${issue.message}`)
        .join('; ')}`,
    );
  }
  const id = uuidv7();
  await client.query(WRITE_EVENT, [
    id,
    event.type,
    EVENT_VERSION,
    event.repositoryId,
    commentIdOf(event),
    toStorableJson(event.payload),
    CONSUMERS,
    OUTBOX_CHANNEL,
    cause !== null && cause.repositoryId === event.repositoryId ? cause.hookIds : [],
  ]);
  return id;
}

function commentIdOf({ payload }: NewEvent): number | null {
  return 'comment' in payload ? (payload as EventPayload<'comment.created'>).comment.id : null;
}
