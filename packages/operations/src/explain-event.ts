import type { Pool } from '@ghost/db';

import {
  type DeliveryRecord,
  type DeliveryRow,
  hookTarget,
  type JobStatus,
  SELECT_DELIVERIES,
  toDeliveryRow,
} from './delivery-row.js';

/** What is listed of an event with a large audience; the counts are of all. */
const DEFAULT_LIMIT = 500;

export type ConsumerState = 'pending' | 'running' | 'done' | 'set_aside';

export interface ConsumerProgress {
  consumer: string;
  state: ConsumerState;
  attempts: number;
  lastError: string | null;
  /** Where its next page starts; null before the first and after the last. */
  cursor: string | null;
  /** When it is tried next; null when it ended. */
  nextAt: Date | null;
  endedAt: Date | null;
}

export interface AttemptLine {
  /** Which charged try; null when nothing was charged. */
  number: number | null;
  outcome: string;
  reason: string | null;
  message: string | null;
  /** HTTP status or SMTP reply code. */
  status: number | null;
  finishedAt: Date;
  nextRunAt: Date | null;
}

export interface ExplainedDelivery extends DeliveryRow {
  history: AttemptLine[];
}

export interface SkippedTarget {
  target: string;
  targetKind: 'hook' | 'account';
  targetId: number;
  reason: string;
  /** Which of the reason's cases it was: the field of a filter, for example. */
  detail: string | null;
}

export interface ExplainedEvent {
  id: string;
  type: string;
  repository: string | null;
  /** Its repository is gone: what was not sent by then never will be. */
  repositoryDeleted: boolean;
  createdAt: Date;
  /** When every consumer was done; null while one is pending or set aside. */
  processedAt: Date | null;
  consumers: ConsumerProgress[];
  counts: Record<JobStatus, number>;
  deliveries: ExplainedDelivery[];
  skips: SkippedTarget[];
}

/** The jobs of some events, by event, kind and id; the caller bounds the events. */
export async function deliveriesOfEvents(
  pool: Pool,
  eventIds: readonly string[],
): Promise<DeliveryRow[]> {
  const { rows } = await pool.query<DeliveryRecord>(
    `${SELECT_DELIVERIES} WHERE j.event_id = ANY ($1::uuid[]) ORDER BY j.event_id, j.kind, j.id`,
    [eventIds],
  );
  return rows.map(toDeliveryRow);
}

/** How much of some events is still to be done. */
export interface EventsProgress {
  /** Consumers that are neither done nor set aside. */
  consumersOpen: number;
  setAside: number;
  /** Jobs that will be tried by themselves. */
  pending: number;
  /** Pending jobs of held lanes: they wait for a person. */
  held: number;
  ended: number;
}

/** Counts what is left of some events; cheap enough to ask again and again. */
export async function progressOfEvents(
  pool: Pool,
  eventIds: readonly string[],
): Promise<EventsProgress> {
  const [consumers, jobs] = await Promise.all([
    pool.query<{ open: string; set_aside: string }>(
      `SELECT count(*) FILTER (WHERE done_at IS NULL AND set_aside_at IS NULL) AS open,
         count(*) FILTER (WHERE set_aside_at IS NOT NULL) AS set_aside
       FROM outbox_progress WHERE event_id = ANY ($1::uuid[])`,
      [eventIds],
    ),
    pool.query<{ pending: string; held: string; ended: string }>(
      `SELECT count(*) FILTER (WHERE j.status = 'pending' AND l.held_reason IS NULL) AS pending,
         count(*) FILTER (WHERE j.status = 'pending' AND l.held_reason IS NOT NULL) AS held,
         count(*) FILTER (WHERE j.status <> 'pending') AS ended
       FROM delivery_job j LEFT JOIN delivery_lane l ON l.lane = j.lane AND l.version = j.version
       WHERE j.event_id = ANY ($1::uuid[])`,
      [eventIds],
    ),
  ]);
  return {
    consumersOpen: Number(consumers.rows[0]?.open ?? 0),
    setAside: Number(consumers.rows[0]?.set_aside ?? 0),
    pending: Number(jobs.rows[0]?.pending ?? 0),
    held: Number(jobs.rows[0]?.held ?? 0),
    ended: Number(jobs.rows[0]?.ended ?? 0),
  };
}

/**
 * Everything that is known of an event: who got it, who did not and why, each try, what comes next.
 * @param limit how many deliveries and skips are listed; `counts` is of all
 * @returns null when there is no such event
 */
export async function explainEvent(
  pool: Pool,
  eventId: string,
  limit = DEFAULT_LIMIT,
): Promise<ExplainedEvent | null> {
  const event = await findEvent(pool, eventId);
  if (!event) return null;
  const [consumers, counts, deliveries, skips] = await Promise.all([
    findProgress(pool, eventId),
    countJobs(pool, eventId),
    findDeliveries(pool, eventId, limit),
    findSkips(pool, eventId, limit),
  ]);
  return { ...event, consumers, counts, deliveries, skips };
}

type EventFacts = Omit<ExplainedEvent, 'consumers' | 'counts' | 'deliveries' | 'skips'>;

async function findEvent(pool: Pool, eventId: string): Promise<EventFacts | undefined> {
  const { rows } = await pool.query<EventFacts>(
    `SELECT e.id, e.type, e.payload #>> '{repository,full_name}' AS repository,
       e.repository_id IS NOT NULL AND NOT EXISTS (SELECT FROM repository r WHERE r.id = e.repository_id) AS "repositoryDeleted",
       e.created_at AS "createdAt", e.processed_at AS "processedAt"
     FROM outbox_event e WHERE e.id = $1`,
    [eventId],
  );
  return rows[0];
}

async function findProgress(pool: Pool, eventId: string): Promise<ConsumerProgress[]> {
  const { rows } = await pool.query<ConsumerProgress>(
    `SELECT consumer,
       CASE WHEN done_at IS NOT NULL THEN 'done' WHEN set_aside_at IS NOT NULL THEN 'set_aside'
         WHEN lease_until > now() THEN 'running' ELSE 'pending' END AS state,
       attempts, last_error AS "lastError", cursor,
       CASE WHEN done_at IS NULL AND set_aside_at IS NULL THEN run_at END AS "nextAt",
       coalesce(done_at, set_aside_at) AS "endedAt"
     FROM outbox_progress WHERE event_id = $1 ORDER BY consumer`,
    [eventId],
  );
  return rows;
}

async function countJobs(pool: Pool, eventId: string): Promise<Record<JobStatus, number>> {
  const { rows } = await pool.query<{ status: JobStatus; jobs: string }>(
    'SELECT status, count(*) AS jobs FROM delivery_job WHERE event_id = $1 GROUP BY status',
    [eventId],
  );
  const counts: Record<JobStatus, number> = { pending: 0, delivered: 0, dead: 0, cancelled: 0 };
  for (const row of rows) counts[row.status] = Number(row.jobs);
  return counts;
}

async function findDeliveries(
  pool: Pool,
  eventId: string,
  limit: number,
): Promise<ExplainedDelivery[]> {
  // What needs a person first: an event with many readers shows its failures within the limit.
  const { rows } = await pool.query<DeliveryRecord>(
    `${SELECT_DELIVERIES} WHERE j.event_id = $1 ORDER BY j.status = 'delivered', j.kind DESC, j.id LIMIT $2`,
    [eventId, limit],
  );
  const history = await findHistory(
    pool,
    rows.map((row) => row.jobId),
  );
  return rows.map((row) => ({ ...toDeliveryRow(row), history: history.get(row.jobId) ?? [] }));
}

async function findHistory(pool: Pool, jobIds: string[]): Promise<Map<string, AttemptLine[]>> {
  const { rows } = await pool.query<AttemptLine & { jobId: string }>(
    `SELECT job_id AS "jobId", number, outcome, reason, message, status, finished_at AS "finishedAt", next_run_at AS "nextRunAt"
     FROM delivery_attempt WHERE job_id = ANY ($1::uuid[]) ORDER BY job_id, lease_no, id`,
    [jobIds],
  );
  const history = new Map<string, AttemptLine[]>();
  for (const { jobId, ...line } of rows) {
    const lines = history.get(jobId) ?? [];
    lines.push(line);
    history.set(jobId, lines);
  }
  return history;
}

async function findSkips(pool: Pool, eventId: string, limit: number): Promise<SkippedTarget[]> {
  const { rows } = await pool.query<{
    target_kind: 'hook' | 'account';
    target_id: string;
    reason: string;
    detail: string | null;
    login: string | null;
    url: string | null;
  }>(
    `SELECT s.target_kind, s.target_id, s.reason, s.detail, a.login, h.url
     FROM fanout_skip s
     LEFT JOIN account a ON s.target_kind = 'account' AND a.id = s.target_id
     LEFT JOIN hook h ON s.target_kind = 'hook' AND h.id = s.target_id
     WHERE s.event_id = $1 ORDER BY s.target_kind, s.target_id LIMIT $2`,
    [eventId, limit],
  );
  return rows.map((row) => ({
    target:
      row.target_kind === 'hook'
        ? hookTarget(row.target_id, row.url)
        : (row.login ?? `account ${row.target_id}`),
    targetKind: row.target_kind,
    targetId: Number(row.target_id),
    reason: row.reason,
    detail: row.detail,
  }));
}
