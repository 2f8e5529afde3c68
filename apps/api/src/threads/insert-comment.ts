import { databaseErrorCode, type Permission, type schema, type Transaction } from '@ghost/db';
import { sqlOf } from '@ghost/queue';

import { notFound } from '../http/api-error.js';

type CommentRow = typeof schema.comment.$inferSelect;
type ThreadRow = typeof schema.thread.$inferSelect;

/** not_null_violation, foreign_key_violation: the thread went, with its counter, since it was looked up. */
const THREAD_GONE_STATES: ReadonlySet<string | undefined> = new Set(['23502', '23503']);

/** What a thread and its repository are under the lock on the thread's counter. */
interface ThreadNow {
  private: boolean;
  thread: Pick<ThreadRow, 'title' | 'body' | 'state' | 'updatedAt' | 'closedAt'>;
}

/** What the SQL function `thread_now` returns. */
interface ThreadNowRow {
  private: boolean;
  permission: Permission;
  title: string;
  body: string;
  state: 'open' | 'closed';
  updated_at: string;
  closed_at: string | null;
}

interface MadeRow {
  id: string;
  number: string;
  created_at: Date;
  updated_at: Date;
  now: ThreadNowRow;
}

const INSERT_COMMENT = `
  WITH counted AS (
    UPDATE comment_counter SET last = last + 1 WHERE thread_id = $1::bigint
    RETURNING last, thread_now(thread_id, $2::bigint) AS now
  ), made AS (
    INSERT INTO comment (thread_id, number, author_id, body)
    VALUES ($1, (SELECT last FROM counted), $2, $3)
    RETURNING id, number, created_at, updated_at
  ), joined AS (
    INSERT INTO thread_subscription (thread_id, account_id, reason) VALUES ($1, $2, 'participant')
    ON CONFLICT (thread_id, account_id) DO UPDATE SET reason = 'participant'
    WHERE thread_subscription.reason IN ('mention', 'manual')
  )
  SELECT made.*, counted.now FROM made, counted`;

/**
 * Gives the comment its number, writes it and makes its author take part: one round trip, as everybody
 * waits for it. The counter's row is locked until the commit, so numbers have no gaps and no repeats.
 * @throws ApiError 404 when the thread is gone, or may not be read any more
 */
export async function insertComment(
  tx: Transaction,
  threadId: number,
  authorId: number,
  body: string,
): Promise<{ comment: CommentRow; now: ThreadNow }> {
  try {
    const [found] = await sqlOf(tx).query<MadeRow>(INSERT_COMMENT, [threadId, authorId, body]);
    if (found === undefined) throw new Error('The insert of a comment returned no row');
    const { id, number, created_at: createdAt, updated_at: updatedAt, now } = found;
    if (now.permission === 'none') throw notFound();
    const key = { id: Number(id), number: Number(number) };
    return {
      comment: { ...key, threadId, authorId, body, createdAt, updatedAt },
      now: threadNow(now),
    };
  } catch (error) {
    if (THREAD_GONE_STATES.has(databaseErrorCode(error))) throw notFound();
    throw error;
  }
}

function threadNow(row: ThreadNowRow): ThreadNow {
  const { title, body, state, updated_at: updatedAt, closed_at: closedAt } = row;
  return {
    private: row.private,
    thread: {
      title,
      body,
      state,
      updatedAt: new Date(updatedAt),
      closedAt: closedAt === null ? null : new Date(closedAt),
    },
  };
}
