import type { EventType } from '@ghost/contract';
import { sql } from 'drizzle-orm';

import type { Transaction } from './pool.js';

/** Events that hold a comment's text; `comment.deleted` holds none. */
export const COMMENT_TEXT_EVENTS: string[] = [
  'comment.created',
  'comment.edited',
] satisfies EventType[];

/**
 * Whether a job holds the text of a comment that is deleted. If not, the comment stays until this
 * transaction ends: its row is locked, and whoever deletes it waits, and then cancels what this one queued.
 */
export async function isOfDeletedComment(tx: Transaction, jobId: string): Promise<boolean> {
  const found = await tx.execute<{ deleted: boolean }>(sql`
    with told as materialized (
      select e.comment_id from delivery_job j join outbox_event e on e.id = j.event_id
      where j.id = ${jobId} and e.comment_id is not null
        and e.type = any (${sql.param(COMMENT_TEXT_EVENTS)}::text[])
    ), kept as materialized (
      select from comment c where c.id in (select comment_id from told) for key share
    )
    select exists (select from told) and not exists (select from kept) as deleted`);
  return found.rows[0]?.deleted ?? false;
}
