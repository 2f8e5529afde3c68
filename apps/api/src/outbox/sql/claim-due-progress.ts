import type { Consumer } from '@ghost/contract';
import type { Sql } from '@ghost/queue';

import type { ClaimedProgress } from '../fanout-consumer.js';

/** What is written for an event whose process died at each of its starts. */
const DIED_EACH_TIME = 'its process died each time';

export interface ClaimLimits {
  /** At most so many rows: as many as start at once. */
  rows: number;
  /** Whether nothing else runs in this process: only then a suspect is taken, and it alone. */
  idle: boolean;
  leaseMs: number;
  maxAttempts: number;
  consumers: readonly Consumer[];
  /** `type:version` of the events that this process understands; others wait, uncharged. */
  known: readonly string[];
  /** Events of which a consumer ended here since the claim before: the last to end makes them processed. */
  ended: readonly string[];
}

/** An event that ended is still open, as somebody holds it. */
interface LeftOpen {
  event_id: null;
}

interface ClaimedRow {
  event_id: string;
  consumer: Consumer;
  cursor: string | null;
  attempts: number;
  lease_no: string;
  set_aside: boolean;
  suspect: boolean;
  type: string;
  version: number;
  repository_id: string | null;
  payload: unknown;
  created_at: Date;
}

export interface ClaimedRows {
  claimed: ClaimedProgress[];
  /** Rows whose process died at every start: set aside by this claim. */
  setAside: { eventId: string; consumer: Consumer; type: string; error: string }[];
  /** Somebody holds an event that ended: it has to be closed another time. */
  leftOpen: boolean;
}

/**
 * Takes the oldest due rows that nobody holds, in one statement, and charges each a start; a row whose
 * process died is taken alone. Also closes the events that ended since. The rules are with the
 * function, in the migration of its name.
 */
export async function claimDueProgress(sql: Sql, limits: ClaimLimits): Promise<ClaimedRows> {
  const rows = await sql.query<ClaimedRow | LeftOpen>(
    'SELECT * FROM outbox_claim($1, $2, $3, $4, $5::text[], $6::text[], $7::uuid[], $8, true)',
    [
      limits.rows,
      limits.idle,
      limits.leaseMs,
      limits.maxAttempts,
      limits.consumers,
      limits.known,
      limits.ended,
      DIED_EACH_TIME,
    ],
  );
  const found: ClaimedRows = { claimed: [], setAside: [], leftOpen: false };
  for (const row of rows) {
    if (row.event_id === null) {
      found.leftOpen = true;
      continue;
    }
    const { consumer, type } = row;
    if (!row.set_aside) found.claimed.push(toClaimed(row));
    else found.setAside.push({ eventId: row.event_id, consumer, type, error: DIED_EACH_TIME });
  }
  return found;
}

function toClaimed(row: ClaimedRow): ClaimedProgress {
  return {
    consumer: row.consumer,
    leaseNo: Number(row.lease_no),
    attempts: row.attempts,
    suspect: row.suspect,
    cursor: row.cursor,
    event: {
      id: row.event_id,
      type: row.type,
      version: row.version,
      repositoryId: row.repository_id === null ? null : Number(row.repository_id),
      payload: row.payload,
      createdAt: row.created_at,
    },
  };
}
