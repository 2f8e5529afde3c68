import type { Sql } from '@ghost/queue';

import type { ClaimedProgress } from '../fanout-consumer.js';

/**
 * Locks, until the page commits, the progress row if the fence still holds and the repository
 * against a loss of access. While the page is open no claim takes its row, however long it takes.
 * For the rest of the transaction the planner walks indexes: a plan made before the first statistics
 * read all 100,000 watchers and sorted them, for each page of 1,000.
 * @returns false when the row was claimed anew, given back or ended: nothing may be written
 */
export async function lockClaimedProgress(sql: Sql, claimed: ClaimedProgress): Promise<boolean> {
  const [row] = await sql.query<{ held: boolean }>(
    `WITH held AS MATERIALIZED (
       SELECT FROM outbox_progress
       WHERE event_id = $1 AND consumer = $2 AND lease_no = $3 AND lease_until IS NOT NULL
       FOR NO KEY UPDATE
     ), shared AS MATERIALIZED (
       SELECT FROM repository WHERE id = $4::bigint FOR SHARE
     )
     SELECT EXISTS (SELECT FROM held) AS held, (SELECT count(*) FROM shared) AS repositories,
       set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
       set_config('jit', 'off', true)`,
    [claimed.event.id, claimed.consumer, claimed.leaseNo, claimed.event.repositoryId],
  );
  return row?.held ?? false;
}
