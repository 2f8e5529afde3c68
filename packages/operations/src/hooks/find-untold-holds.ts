import type { Sql } from '@ghost/queue';

import type { EndpointFault } from './find-failing-hooks.js';

/** With more, the rest is found at the next start. */
const MOST = 1_000;

/**
 * Holds of which nobody was told, as the process that held the hook died before: with the newest fault in its history.
 * Of what was held longer ago than a job lives nothing waits any more.
 */
const FIND = `
  SELECT h.id, l.held_reason AS reason, a.message, a.status
  FROM delivery_lane l
  JOIN hook h ON h.id = CASE WHEN l.kind = 'webhook' THEN substr(l.lane, 6)::bigint END
  LEFT JOIN LATERAL (
    SELECT a.message, a.status FROM delivery_attempt a
    WHERE a.hook_id = h.id AND a.outcome = 'held' AND a.reason = l.held_reason
      AND a.finished_at >= l.held_at - interval '1 day'
    ORDER BY a.id DESC LIMIT 1
  ) a ON true
  WHERE l.held_reason = ANY ($1) AND (l.warned_at IS NULL OR l.warned_at < l.held_at) AND l.held_at > now() - interval '7 days'
  ORDER BY l.held_at
  LIMIT ${MOST}`;

/**
 * @param reasons - those holds that an owner is told of
 * @returns a fault a hook, as `judgeFailingHook` takes it
 */
export async function findUntoldHolds(
  sql: Sql,
  reasons: readonly string[],
): Promise<EndpointFault[]> {
  const rows = await sql.query<{
    id: string;
    reason: string;
    message: string | null;
    status: number | null;
  }>(FIND, [reasons]);
  return rows.map(({ id, ...fault }) => ({
    hookId: Number(id),
    ...fault,
    doubtful: false,
    held: true,
  }));
}
