import type { Pool } from '@ghost/db';

/** Slots that a lane has by default, all earned. */
const EARNED = 10;

/** Makes lanes ones that had a recent success and have earned their slots: without, each starts with one. */
export async function proveLanes(pool: Pool, lanes: readonly string[]): Promise<void> {
  await pool.query(
    `INSERT INTO delivery_lane (lane, version, kind, standing, earned, last_success_at)
     SELECT lane, 1, CASE WHEN lane LIKE 'hook:%' THEN 'webhook' ELSE 'email' END, 'proven', $2, now()
     FROM (SELECT DISTINCT lane FROM unnest($1::text[]) AS lane ORDER BY lane) l
     ON CONFLICT (lane, version) DO UPDATE SET standing = 'proven', earned = $2, last_success_at = now()
       WHERE delivery_lane.standing <> 'suspect' AND delivery_lane.failures = 0`,
    [lanes, EARNED],
  );
}
