import type { Pool } from '@ghost/db';
import { hookLane } from '@ghost/queue';

import { PATIENT } from './patient.js';
import { proveLanes } from './prove-lanes.js';
import { uuidAt } from './uuid-at.js';

export interface EndedDeliveries {
  deliveries: number;
  /** Default: dead. */
  status?: 'delivered' | 'dead' | 'cancelled';
  /** When the newest ended; those before it, a millisecond apart. Default 10. */
  minutesAgo?: number;
  /** Default: thread.opened. */
  event?: string;
  commentId?: number | null;
}

/**
 * Writes webhooks of a hook as fan-out and delivery would have left them: each its event and body, and the attempt that
 * ended it, unless it was cancelled. Its lane is proven. Returns their ids, the oldest first.
 */
export async function addEnded(
  pool: Pool,
  hookId: number,
  ended: EndedDeliveries,
): Promise<string[]> {
  const { deliveries, status = 'dead', minutesAgo = 10 } = ended;
  const { event = 'thread.opened', commentId = null } = ended;
  await proveLanes(pool, [hookLane(hookId)]);
  const { rows } = await pool.query<{ id: string }>({
    text: ADD_ENDED,
    values: [hookId, deliveries, status, minutesAgo, event, commentId],
    ...PATIENT,
  });
  return rows.map(({ id }) => id).sort();
}

const ADD_ENDED = `
  WITH hook AS (SELECT id, repository_id FROM hook WHERE id = $1), event AS (
    INSERT INTO outbox_event (id, type, version, repository_id, comment_id, payload, created_at, processed_at)
    SELECT ${uuidAt('t.at')}, $5, 1, h.repository_id, $6::bigint, '{}', t.at, t.at
    FROM hook h, generate_series(1, $2::int) n
    CROSS JOIN LATERAL (SELECT now() - $4::float8 * interval '1 minute' - ($2::int - n) * interval '1 millisecond' AS at) t
    RETURNING id, created_at AS at
  ), content AS (
    INSERT INTO delivery_content (id, event_id, kind, body, created_at)
    SELECT id, id, 'webhook', json_build_object('event', id, 'text', 'Ended 👋')::text, at FROM event
  ), job AS (
    INSERT INTO delivery_job (id, idempotency_key, event_id, content_id, kind, version, lane, hook_id, repository_id, own, run_at,
      created_at, expires_at, attempts, tries, lease_no, status, finished_at, last_error)
    SELECT ${uuidAt('e.at')}, 'webhook:' || e.id || ':' || h.id, e.id, e.id, 'webhook', 1, 'hook:' || h.id, h.id, h.repository_id,
      jsonb_build_object('event', $5::text), e.at, e.at, e.at + interval '7 days', 16, 16, 16, $3, e.at,
      CASE WHEN $3 <> 'delivered' THEN 'http_500' END
    FROM event e, hook h
    RETURNING id, hook_id, finished_at
  ), attempt AS (
    INSERT INTO delivery_attempt (job_id, lease_no, hook_id, number, started_at, finished_at, outcome, status)
    SELECT id, 16, hook_id, 16, finished_at, finished_at, $3, CASE WHEN $3 = 'delivered' THEN 200 ELSE 500 END FROM job
    WHERE $3 <> 'cancelled'
  )
  SELECT id FROM job`;
