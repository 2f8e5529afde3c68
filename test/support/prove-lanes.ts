import type { Pool } from '@ghost/db';

/** Slots that a lane has by default, all earned. */
const EARNED = 10;

/** Makes lanes ones that had a recent success and have earned their slots: without, each starts with one. */
export async function proveLanes(pool: Pool, lanes: readonly string[]): Promise<void> {
  // Those that exist are not made again; they are locked in order, as everybody does.
  await pool.query(
    `INSERT INTO delivery_lane (lane, version, kind)
     SELECT lane, 1, CASE WHEN lane LIKE 'hook:%' THEN 'webhook' ELSE 'email' END
     FROM (SELECT DISTINCT lane FROM unnest($1::text[]) AS lane ORDER BY lane) l`,
    [lanes],
  );
  await pool.query(
    `WITH locked AS MATERIALIZED (
       SELECT lane, version FROM delivery_lane WHERE lane = ANY ($1) AND version = 1 ORDER BY lane, version FOR UPDATE
     )
     UPDATE delivery_lane d SET standing = 'proven', earned = $2, last_success_at = now()
     FROM locked l WHERE d.lane = l.lane AND d.version = l.version AND d.standing <> 'suspect' AND d.failures = 0`,
    [lanes, EARNED],
  );
}
