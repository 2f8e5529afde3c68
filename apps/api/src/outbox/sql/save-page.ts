import type { Sql } from '@ghost/queue';

import type { ClaimedProgress, FanoutPage } from '../fanout-consumer.js';

/**
 * Writes how far the consumer is, and the targets that it left out. Progress clears the charged
 * starts. After a page that is not the last the row is due again soon, behind what waits already: a
 * huge event lets small ones pass, and leaves the processor to requests in between. The caller holds
 * the row (`lockClaimedProgress`).
 */
export async function savePage(
  sql: Sql,
  claimed: ClaimedProgress,
  page: FanoutPage,
  pauseMs: number,
): Promise<void> {
  await sql.query(SAVE, [
    claimed.event.id,
    claimed.consumer,
    page.cursor,
    page.cursor === null,
    pauseMs,
    page.skips.map((skip) => skip.targetKind),
    page.skips.map((skip) => skip.targetId),
    page.skips.map((skip) => skip.reason),
    page.skips.map((skip) => skip.detail ?? null),
  ]);
}

const SAVE = `
  WITH skipped AS (
    INSERT INTO fanout_skip (event_id, target_kind, target_id, reason, detail)
    SELECT $1::uuid, s.kind, s.id, s.reason, s.detail
    FROM unnest($6::text[], $7::bigint[], $8::text[], $9::text[]) AS s(kind, id, reason, detail)
    ON CONFLICT DO NOTHING
  )
  UPDATE outbox_progress
  SET cursor = $3, attempts = 0, last_error = NULL, lease_until = NULL,
    run_at = CASE WHEN $4::boolean THEN run_at ELSE clock_timestamp() + $5 * interval '1 millisecond' END,
    done_at = CASE WHEN $4::boolean THEN now() END
  WHERE event_id = $1::uuid AND consumer = $2`;
