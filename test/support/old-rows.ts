import type { Pool } from '@ghost/db';

import { PATIENT } from './patient.js';
import { uuidAt } from './uuid-at.js';

export interface OldEvents {
  events: number;
  daysAgo: number;
  /** Webhooks each, to hooks that are not there; default 1. */
  jobs?: number;
  /** What became of the jobs; what ended did so with its event. Default: delivered. */
  status?: 'delivered' | 'dead' | 'cancelled' | 'pending';
  /** Targets left out, each; default 0. */
  skips?: number;
  /** Whether both consumers ended it, or the last set it aside; default: ended. */
  processed?: boolean;
}

/** Writes events of an age as fan-out and delivery would have left them; returns their ids. */
export async function addOldEvents(pool: Pool, old: OldEvents): Promise<string[]> {
  const { events, daysAgo, jobs = 1, status = 'delivered', skips = 0, processed = true } = old;
  const { rows } = await pool.query<{ id: string }>({
    text: ADD_EVENTS,
    values: [events, daysAgo, jobs, status, skips, processed],
    ...PATIENT,
  });
  return rows.map((row) => row.id);
}

const ADD_EVENTS = `
  WITH event AS (
    INSERT INTO outbox_event (id, type, version, payload, created_at, processed_at)
    SELECT ${uuidAt('t.at')}, 'comment.created', 1, '{}', t.at, CASE WHEN $6::boolean THEN t.at END
    FROM generate_series(1, $1::int) n
    CROSS JOIN LATERAL (SELECT now() - $2::int * interval '1 day' - n * interval '1 millisecond' AS at) t
    RETURNING id, created_at AS at
  ), progress AS (
    INSERT INTO outbox_progress (event_id, consumer, run_at, done_at, set_aside_at)
    SELECT id, c, at, CASE WHEN $6::boolean OR c = 'notifier' THEN at END, CASE WHEN NOT $6::boolean AND c <> 'notifier' THEN at END
    FROM event, unnest(ARRAY['notifier', 'webhook-fanout']) c
  ), content AS (
    INSERT INTO delivery_content (id, event_id, kind, body, created_at) SELECT id, id, 'webhook', repeat('A comment. ', 30), at FROM event
  ), job AS (
    INSERT INTO delivery_job (id, idempotency_key, event_id, content_id, kind, version, lane, hook_id, own, run_at, created_at,
      expires_at, status, finished_at)
    SELECT ${uuidAt('at')}, 'webhook:' || id || ':' || h, id, id, 'webhook', 1, 'hook:' || h, h, '{"event":"comment.created"}', at, at,
      at + interval '7 days', $4, CASE WHEN $4 <> 'pending' THEN at END
    FROM event, generate_series(900001, 900000 + $3::int) h
  ), skip AS (
    INSERT INTO fanout_skip (event_id, target_kind, target_id, reason, created_at)
    SELECT id, 'hook', h, 'filtered', at FROM event, generate_series(1, $5::int) h
  )
  SELECT id FROM event`;

/** Writes attempts that finished so many days ago: to that day's partition where it is made, else to the default one. */
export async function addOldAttempts(
  pool: Pool,
  { attempts, daysAgo, day = false }: { attempts: number; daysAgo: number; day?: boolean },
): Promise<void> {
  if (day) {
    await pool.query(`DO $$ DECLARE v_day date := (now() AT TIME ZONE 'UTC')::date - ${daysAgo}; BEGIN
      EXECUTE format('CREATE TABLE %I PARTITION OF delivery_attempt FOR VALUES FROM (%L) TO (%L)',
        'delivery_attempt_' || to_char(v_day, 'YYYYMMDD'), v_day::timestamp AT TIME ZONE 'UTC', (v_day + 1)::timestamp AT TIME ZONE 'UTC');
    END $$`);
  }
  await pool.query({
    text: `INSERT INTO delivery_attempt (job_id, lease_no, hook_id, number, started_at, finished_at, outcome)
      SELECT gen_random_uuid(), 1, 900001, 1, t.at, t.at, 'delivered'
      FROM generate_series(1, $1::int), (SELECT now() - $2::int * interval '1 day' AS at) t`,
    values: [attempts, daysAgo],
    ...PATIENT,
  });
}

export interface RowCounts {
  events: number;
  progress: number;
  contents: number;
  jobs: number;
  skips: number;
  attempts: number;
}

/** How many rows there are; of some events alone where they are given. */
export async function countRows(pool: Pool, eventIds?: readonly string[]): Promise<RowCounts> {
  const ids = eventIds ?? null;
  const { rows } = await pool.query<RowCounts>(
    `SELECT
       (SELECT count(*)::int FROM outbox_event WHERE $1::uuid[] IS NULL OR id = ANY ($1)) AS events,
       (SELECT count(*)::int FROM outbox_progress WHERE $1::uuid[] IS NULL OR event_id = ANY ($1)) AS progress,
       (SELECT count(*)::int FROM delivery_content WHERE $1::uuid[] IS NULL OR event_id = ANY ($1)) AS contents,
       (SELECT count(*)::int FROM delivery_job WHERE $1::uuid[] IS NULL OR event_id = ANY ($1)) AS jobs,
       (SELECT count(*)::int FROM fanout_skip WHERE $1::uuid[] IS NULL OR event_id = ANY ($1)) AS skips,
       (SELECT count(*)::int FROM delivery_attempt WHERE $1::uuid[] IS NULL) AS attempts`,
    [ids],
  );
  const [counts] = rows;
  if (counts === undefined) throw new Error('A count gave no row');
  return counts;
}
