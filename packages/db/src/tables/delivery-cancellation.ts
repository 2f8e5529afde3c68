import { sql } from 'drizzle-orm';
import {
  bigint,
  check,
  index,
  pgTable,
  smallint,
  text,
  timestamp,
  uuid,
} from 'drizzle-orm/pg-core';

/**
 * What was deleted while jobs waited for it: a row stays until the last of them is cancelled, in steps. A hook's lane is
 * held meanwhile and goes with the row; of a repository it is the mail, which each worker asks about before it is sent.
 */
export const deliveryCancellation = pgTable(
  'delivery_cancellation',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    /** Of a hook. */
    lane: text('lane'),
    /** All mail of it. */
    repositoryId: bigint('repository_id', { mode: 'number' }),
    /** `last_error` of the jobs. */
    reason: text('reason').notNull(),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
    /** The last job that a step looked at: the next begins behind it, not at what is cancelled already. */
    afterVersion: smallint('after_version').notNull().default(0),
    afterRunAt: timestamp('after_run_at', { withTimezone: true })
      .notNull()
      .default(sql`'-infinity'`),
    afterId: uuid('after_id').notNull().default(sql`'00000000-0000-0000-0000-000000000000'`),
    afterAccountId: bigint('after_account_id', { mode: 'number' }).notNull().default(0),
  },
  (table) => [
    index('delivery_cancellation_repository')
      .on(table.repositoryId)
      .where(sql`${table.repositoryId} is not null`),
    check(
      'delivery_cancellation_one_target',
      sql`(${table.lane} is null) <> (${table.repositoryId} is null)`,
    ),
  ],
);
