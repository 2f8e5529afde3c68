import type { JobKind } from '@ghost/contract';
import type { Pool } from '@ghost/db';

import { type JobStatus, WAITING, type Waiting } from './delivery-row.js';
import { findRelayRest } from './mail/relay-rest.js';

/** More held lanes than a person reads; the count of jobs is of all. */
const HELD_LANES_LISTED = 100;

export interface QueueCount {
  kind: JobKind;
  status: JobStatus;
  /** What pending jobs wait for; null for ended ones. */
  waiting: Waiting | null;
  jobs: number;
  /** The longest that one of them has been due (seconds); null for what is not due. */
  oldestDueSeconds: number | null;
}

export interface HeldLane {
  lane: string;
  reason: string;
  since: Date;
  jobs: number;
}

export interface QueueStatus {
  counts: QueueCount[];
  heldLanes: HeldLane[];
  /** Set while the SMTP relay rests: no mail is sent until then. */
  relayPausedUntil: Date | null;
  relayReason: string | null;
  outbox: { pending: number; setAside: number; oldestPendingSeconds: number | null };
}

/** How much waits where; reads every job once, so it is for a person and no tight loop. */
export async function queueStatus(pool: Pool): Promise<QueueStatus> {
  const [counts, heldLanes, relay, outbox] = await Promise.all([
    countJobs(pool),
    findHeldLanes(pool),
    findRelayRest(pool),
    countOutbox(pool),
  ]);
  return {
    counts,
    heldLanes,
    relayPausedUntil: relay?.until ?? null,
    relayReason: relay?.reason ?? null,
    outbox,
  };
}

async function countJobs(pool: Pool): Promise<QueueCount[]> {
  const { rows } = await pool.query<{
    kind: JobKind;
    status: JobStatus;
    waiting: Waiting | null;
    jobs: string;
    oldest: number | null;
  }>(
    `SELECT kind, status, waiting, count(*) AS jobs,
       CASE WHEN waiting = 'due' THEN extract(epoch FROM now() - min(run_at))::float8 END AS oldest
     FROM (
       SELECT j.kind, j.status, j.run_at, ${WAITING} AS waiting
       FROM delivery_job j LEFT JOIN delivery_lane l ON l.lane = j.lane AND l.version = j.version
     ) AS seen
     GROUP BY kind, status, waiting ORDER BY kind, status DESC, waiting`,
  );
  return rows.map((row) => ({
    kind: row.kind,
    status: row.status,
    waiting: row.waiting,
    jobs: Number(row.jobs),
    oldestDueSeconds: row.oldest,
  }));
}

async function findHeldLanes(pool: Pool): Promise<HeldLane[]> {
  const { rows } = await pool.query<{ lane: string; reason: string; since: Date; jobs: string }>(
    `SELECT l.lane, min(l.held_reason) AS reason, min(l.held_at) AS since, count(j.id) AS jobs
     FROM delivery_lane l
     LEFT JOIN delivery_job j ON j.lane = l.lane AND j.version = l.version AND j.status = 'pending'
     WHERE l.held_reason IS NOT NULL GROUP BY l.lane ORDER BY count(j.id) DESC, l.lane LIMIT $1`,
    [HELD_LANES_LISTED],
  );
  return rows.map((row) => ({ ...row, jobs: Number(row.jobs) }));
}

async function countOutbox(pool: Pool): Promise<QueueStatus['outbox']> {
  const { rows } = await pool.query<{ pending: string; set_aside: string; oldest: number | null }>(
    `SELECT count(*) FILTER (WHERE p.set_aside_at IS NULL) AS pending,
       count(*) FILTER (WHERE p.set_aside_at IS NOT NULL) AS set_aside,
       extract(epoch FROM now() - min(e.created_at) FILTER (WHERE p.set_aside_at IS NULL))::float8 AS oldest
     FROM outbox_progress p JOIN outbox_event e ON e.id = p.event_id WHERE p.done_at IS NULL`,
  );
  const row = rows[0];
  return {
    pending: Number(row?.pending ?? 0),
    setAside: Number(row?.set_aside ?? 0),
    oldestPendingSeconds: row?.oldest ?? null,
  };
}
