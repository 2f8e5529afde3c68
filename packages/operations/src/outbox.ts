import { type Consumer, CONSUMERS, EVENT_TYPES, EVENT_VERSION } from '@ghost/contract';
import { OUTBOX_CHANNEL, type Pool } from '@ghost/db';

import { listLimit } from './list-limit.js';

const KNOWN_EVENTS = EVENT_TYPES.map((type) => `${type}:${EVENT_VERSION}`);

/**
 * What an event that a consumer has not ended waits for: an operator, its back-off, the page that is
 * under way, its turn, or a process of a version that knows its type.
 */
export const OUTBOX_STATES = [
  'set_aside',
  'failing',
  'running',
  'pending',
  'unknown_type',
] as const;
export type OutboxState = (typeof OUTBOX_STATES)[number];

/** One consumer's progress with one event, as an operator sees it. */
export interface OutboxRow {
  eventId: string;
  type: string;
  version: number;
  /** `owner/name`; null for an event of no repository. */
  repository: string | null;
  consumer: string;
  state: OutboxState;
  /** Starts since the last progress. */
  attempts: number;
  lastError: string | null;
  createdAt: Date;
  /** When it is tried next; null when it is set aside. */
  nextAt: Date | null;
  setAsideAt: Date | null;
}

export interface OutboxFilter {
  state?: OutboxState;
  consumer?: Consumer;
  /** 1 to 1,000; default 50. */
  limit?: number;
}

/** What an operator's wish for an event came to; the reason says what to do instead. */
export type OutboxChange =
  | { result: 'done'; eventId: string; consumers: string[] }
  | { result: 'refused'; eventId: string; reason: string };

/** Events that a consumer has not ended: what was set aside first, then the oldest first. */
export async function listOutbox(pool: Pool, filter: OutboxFilter = {}): Promise<OutboxRow[]> {
  const limit = listLimit(filter.limit);
  const { rows } = await pool.query<OutboxRow>(
    `SELECT * FROM (
       SELECT p.event_id AS "eventId", e.type, e.version, e.payload #>> '{repository,full_name}' AS repository, p.consumer,
         CASE WHEN p.set_aside_at IS NOT NULL THEN 'set_aside'
           WHEN e.type || ':' || e.version <> ALL ($1::text[]) OR p.consumer <> ALL ($2::text[]) THEN 'unknown_type'
           WHEN p.lease_until > now() THEN 'running' WHEN p.last_error IS NOT NULL THEN 'failing'
           ELSE 'pending' END AS state,
         p.attempts, p.last_error AS "lastError", e.created_at AS "createdAt",
         CASE WHEN p.set_aside_at IS NULL THEN greatest(p.run_at, p.lease_until) END AS "nextAt",
         p.set_aside_at AS "setAsideAt"
       FROM outbox_progress p JOIN outbox_event e ON e.id = p.event_id
       WHERE p.done_at IS NULL
     ) AS unfinished
     WHERE ($3::text IS NULL OR state = $3) AND ($4::text IS NULL OR consumer = $4)
     ORDER BY "setAsideAt" IS NULL, "createdAt", "eventId", consumer LIMIT $5`,
    [KNOWN_EVENTS, CONSUMERS, filter.state ?? null, filter.consumer ?? null, limit],
  );
  return rows;
}

/**
 * Lets fan-out try an event again at once, where it stopped, with a fresh budget: every consumer that
 * has set it aside or waits for its back-off, or the one named. What was enqueued before stays; no key
 * is enqueued twice.
 */
export async function retryOutbox(
  pool: Pool,
  eventId: string,
  consumer?: Consumer,
): Promise<OutboxChange> {
  const { rows } = await pool.query<{ consumer: string }>(
    `WITH again AS (
       UPDATE outbox_progress
       SET set_aside_at = NULL, attempts = 0, run_at = now()
       WHERE event_id = $1 AND done_at IS NULL AND (lease_until IS NULL OR lease_until <= now())
         AND ($2::text IS NULL OR consumer = $2)
       RETURNING consumer
     )
     SELECT consumer, pg_notify($3, '') FROM again ORDER BY consumer`,
    [eventId, consumer ?? null, OUTBOX_CHANNEL],
  );
  if (rows.length > 0) {
    return { result: 'done', eventId, consumers: rows.map((row) => row.consumer) };
  }
  return { result: 'refused', eventId, reason: await whyNot(pool, eventId, consumer) };
}

async function whyNot(pool: Pool, eventId: string, consumer?: Consumer): Promise<string> {
  const { rows } = await pool.query<{ done: boolean }>(
    `SELECT done_at IS NOT NULL AS done FROM outbox_progress
     WHERE event_id = $1 AND ($2::text IS NULL OR consumer = $2)`,
    [eventId, consumer ?? null],
  );
  if (rows.length === 0) return 'there is no such event';
  if (rows.every((row) => row.done)) {
    return 'it was fanned out already; its jobs are listed by "npx ghost event show"';
  }
  return 'a page of it is under way; look again in a moment';
}
