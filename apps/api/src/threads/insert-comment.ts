import { databaseErrorCode, type Permission, schema, type Transaction } from '@ghost/db';
import { eq, sql } from 'drizzle-orm';

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
  const counter = schema.commentCounter;
  const counted = tx.$with('counted').as(
    tx
      .update(counter)
      .set({ last: sql`${counter.last} + 1` })
      .where(eq(counter.threadId, threadId))
      .returning({
        last: counter.last,
        now: sql<ThreadNowRow>`thread_now(${counter.threadId}, ${authorId}::bigint)`.as('now'),
      }),
  );
  const number = sql`(select last from counted)`;
  const made = tx
    .$with('made')
    .as(tx.insert(schema.comment).values({ threadId, number, authorId, body }).returning());
  const joined = tx
    .$with('joined')
    .as(
      tx
        .insert(schema.threadSubscription)
        .values({ threadId, accountId: authorId, reason: 'participant' })
        .onConflictDoNothing()
        .returning(),
    );
  try {
    const [found] = await tx
      .with(counted, made, joined)
      .select({ comment: made._.selectedFields, now: counted.now })
      .from(made)
      .crossJoin(counted);
    if (found === undefined) throw new Error('The insert of a comment returned no row');
    if (found.now.permission === 'none') throw notFound();
    return { comment: found.comment, now: threadNow(found.now) };
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
