import type { Sql } from '@ghost/queue';

/** The newest fault of a hook, in the words of its history. */
export interface EndpointFault {
  hookId: number;
  /** Stable code. */
  reason: string;
  /** One plain sentence for the owner. */
  message: string | null;
  /** HTTP status, where an answer came. */
  status: number | null;
  /** It may be the fault of our own network, name servers, clock or authorities. */
  doubtful: boolean;
  /** Its hook was held for it at once (410, a URL that may not be called). */
  held: boolean;
}

/**
 * Held lanes are left out, as nothing is sent there. A doubtful fault counts where some webhook was delivered within
 * half the period, so that our own outage disables nobody; and where none to another host fails, as there is nothing to
 * compare with.
 */
const FIND = `
  SELECT g.id FROM unnest($1::bigint[], $2::boolean[]) AS g(id, doubtful)
  JOIN hook h ON h.id = g.id AND h.active
  CROSS JOIN LATERAL (
    SELECT min(l.failing_since) AS failing_since, max(l.warned_at) AS warned_at, min(l.held_reason) AS held_reason, min(l.host) AS host
    FROM delivery_lane l WHERE l.lane = 'hook:' || g.id
  ) l
  WHERE l.held_reason IS NULL AND l.failing_since <= now() - $3 * interval '1 millisecond'
    AND (l.warned_at IS NULL OR l.warned_at < l.failing_since OR l.warned_at <= now() - $3 * interval '1 millisecond')
    AND (NOT g.doubtful
      OR EXISTS (SELECT FROM delivery_lane w WHERE w.kind = 'webhook' AND w.last_success_at > now() - $3 * interval '1 millisecond')
      OR NOT EXISTS (
        SELECT FROM delivery_lane o
        WHERE o.kind = 'webhook' AND o.next_at < 'infinity' AND o.failing_since IS NOT NULL AND o.host IS DISTINCT FROM l.host
      ))`;

/**
 * Which of some hooks that just failed are to be warned of, or disabled, by now (`judgeFailingHook`).
 * @param periodMs - without a success for so long a hook is disabled
 * @returns their ids
 */
export async function findFailingHooks(
  sql: Sql,
  faults: readonly EndpointFault[],
  periodMs: number,
): Promise<number[]> {
  const rows = await sql.query<{ id: string }>(FIND, [
    faults.map(({ hookId }) => hookId),
    faults.map(({ doubtful }) => doubtful),
    halfOf(periodMs),
  ]);
  return rows.map(({ id }) => Number(id));
}

/** Milliseconds of failures before the warning, and again between the warning and the end. */
export function halfOf(periodMs: number): number {
  return Math.ceil(periodMs / 2);
}
