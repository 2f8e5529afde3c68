import type { Pool } from '@ghost/db';

import type { PruneCounts } from './prune.js';

/** What `prune` would delete now; changes nothing. Reads all old rows once, so it is for a person. */
export async function countPrunable(pool: Pool, days: number): Promise<PruneCounts> {
  const { rows } = await pool.query<Record<keyof PruneCounts, string>>(COUNT, [days]);
  const count = (kind: keyof PruneCounts) => Number(rows[0]?.[kind] ?? 0);
  return {
    expired: count('expired'),
    attemptDays: count('attemptDays'),
    attempts: count('attempts'),
    jobs: count('jobs'),
    contents: count('contents'),
    skips: count('skips'),
    events: count('events'),
  };
}

/** The conditions of the functions `delivery_expire_held`, `retention_step` and `retention_step_attempts`. */
const COUNT = `
  WITH old AS MATERIALIZED (
    SELECT e.id FROM outbox_event e
    WHERE e.id < retention_first_id(retention_before($1)) AND e.created_at < retention_before($1)
      AND e.processed_at < retention_before($1)
      AND NOT EXISTS (SELECT FROM outbox_progress p WHERE p.event_id = e.id AND p.done_at IS NULL)
  ), jobs AS MATERIALIZED (
    SELECT j.event_id, count(*) FILTER (WHERE j.finished_at < retention_before($1)) AS old, count(*) AS all
    FROM delivery_job j WHERE j.event_id IN (SELECT id FROM old) GROUP BY j.event_id
  ), gone AS MATERIALIZED (
    SELECT o.id FROM old o LEFT JOIN jobs j ON j.event_id = o.id WHERE j.event_id IS NULL OR j.old = j.all
  )
  SELECT
    (SELECT count(*) FROM delivery_lane l JOIN delivery_job j ON j.lane = l.lane AND j.version = l.version
     WHERE l.held_reason IS NOT NULL AND j.status = 'pending' AND j.run_at <= now() AND j.expires_at <= now()
       AND (j.lease_until IS NULL OR j.lease_until <= now())) AS expired,
    (SELECT count(*) FROM retention_days($1)) AS "attemptDays",
    (SELECT count(*) FROM delivery_attempt a
     WHERE a.tableoid = 'delivery_attempt_default'::regclass AND a.finished_at < retention_before($1)) AS attempts,
    (SELECT coalesce(sum(j.old), 0) FROM jobs j) AS jobs,
    (SELECT count(*) FROM delivery_content c WHERE c.event_id IN (SELECT id FROM gone)) AS contents,
    (SELECT count(*) FROM fanout_skip s WHERE s.event_id IN (SELECT id FROM old)) AS skips,
    (SELECT count(*) FROM gone) AS events`;
