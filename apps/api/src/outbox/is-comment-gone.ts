import type { EventPayload } from '@ghost/contract';
import { COMMENT_TEXT_EVENTS, schema, type Transaction } from '@ghost/db';
import { eq } from 'drizzle-orm';

import type { FanoutEvent } from './fanout-consumer.js';

/** Why a target of a comment's event gets nothing once the comment is deleted; in `fanout_skip`. */
export const COMMENT_DELETED = 'comment_deleted';

/**
 * Whether an event tells of a comment that was deleted since. The answer holds until the page commits: its
 * caller has the repository locked FOR SHARE, and who deletes a comment locks it first. A statement of its
 * own, as the one that waited for the lock may see the comment still.
 */
export async function isCommentGone(tx: Transaction, event: FanoutEvent): Promise<boolean> {
  if (!COMMENT_TEXT_EVENTS.includes(event.type)) return false;
  const { comment } = event.payload as EventPayload<'comment.created'>;
  const found = await tx
    .select({ id: schema.comment.id })
    .from(schema.comment)
    .where(eq(schema.comment.id, comment.id));
  return found.length === 0;
}
