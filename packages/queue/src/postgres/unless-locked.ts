import { isLockTimeout } from '@ghost/db';

import { LanesLockedError } from '../lanes-locked-error.js';
import type { Lease, Sql } from '../queue.js';

const STILL_LOCKED = `
  SELECT g.lane FROM unnest($1::text[], $2::smallint[]) AS g(lane, version)
  WHERE (
    SELECT l.ctid FROM delivery_lane l WHERE l.lane = g.lane AND l.version = g.version ORDER BY l.moves DESC LIMIT 1 FOR UPDATE SKIP LOCKED
  ) IS NULL AND EXISTS (SELECT FROM delivery_lane l WHERE l.lane = g.lane AND l.version = g.version)`;

/**
 * Does what locks the lanes of leases one behind the other, so that one which is held holds up all.
 * @throws LanesLockedError with those, where the statement runs under a `lock_timeout`
 */
export async function unlessLocked<T>(
  sql: Sql,
  leases: readonly Lease[],
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isLockTimeout(error)) throw error;
    throw new LanesLockedError(await stillLocked(sql, leases), error);
  }
}

async function stillLocked(sql: Sql, leases: readonly Lease[]): Promise<Set<string>> {
  const lanes = [...new Map(leases.map((one) => [`${one.lane} ${one.version}`, one])).values()];
  const rows = await sql.query<{ lane: string }>(STILL_LOCKED, [
    lanes.map(({ lane }) => lane),
    lanes.map(({ version }) => version),
  ]);
  return new Set(rows.map(({ lane }) => lane));
}
