import { type Database, schema, type Transaction } from '@ghost/db';
import { and, desc, eq, ne, type SQL, sql } from 'drizzle-orm';
import { unionAll } from 'drizzle-orm/pg-core';

/** What the newest attempt to reach a hook came to. */
export type LastResponse = Pick<
  typeof schema.deliveryAttempt.$inferSelect,
  'outcome' | 'reason' | 'message' | 'status' | 'startedAt'
>;

/**
 * The newest attempt to reach `schema.hook`, to be joined laterally: by indexes of each day's partition, so
 * what it costs grows with the days that are kept, not with the attempts. Measured over 33 days with
 * 600,000 attempts: a list of 20 hooks is answered in 19 ms, one hook in 10 ms.
 */
export function newestAttempt(db: Database | Transaction) {
  // Inlined: by a parameter the indexes could not be taken, of which each attempt stands in one.
  const [delivered, cancelled] = [sql.raw("'delivered'"), sql.raw("'cancelled'")];
  const { outcome, reason } = schema.deliveryAttempt;
  // What was cancelled, or outlived its time, reached nobody.
  const others = sql`${ne(outcome, delivered)} and ${ne(outcome, cancelled)} and ${reason} is distinct from 'expired'`;
  return unionAll(newestOf(db, eq(outcome, delivered)), newestOf(db, others))
    .orderBy(sql`id desc`)
    .limit(1)
    .as('newest_attempt');
}

function newestOf(db: Database | Transaction, kind: SQL) {
  const { deliveryAttempt: attempt, hook } = schema;
  return db
    .select({
      id: attempt.id,
      outcome: attempt.outcome,
      reason: attempt.reason,
      message: attempt.message,
      status: attempt.status,
      startedAt: attempt.startedAt,
    })
    .from(attempt)
    .where(and(eq(attempt.hookId, sql`${hook.id}`), kind))
    .orderBy(desc(attempt.id))
    .limit(1);
}

/** GitHub's `last_response`; `message` was written for the owner of the hook. */
export function lastResponseView(last: LastResponse | null) {
  if (last === null) return { code: null, status: 'unused', message: null };
  if (last.outcome === 'delivered') return { code: last.status, status: 'active', message: 'OK' };
  return { code: last.status, status: last.reason ?? last.outcome, message: last.message };
}
