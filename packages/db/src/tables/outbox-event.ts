import { sql } from 'drizzle-orm';
import {
  bigint,
  check,
  index,
  jsonb,
  pgTable,
  smallint,
  text,
  timestamp,
  uuid,
} from 'drizzle-orm/pg-core';

/** A committed fact with a snapshot of what it is about. Drained by state, never by "greater than the last id". */
export const outboxEvent = pgTable(
  'outbox_event',
  {
    id: uuid('id').primaryKey(),
    type: text('type').notNull(),
    version: smallint('version').notNull(),
    // No foreign key: an event outlives its repository.
    repositoryId: bigint('repository_id', { mode: 'number' }),
    /** The comment that it tells of: deleting one cancels what its events still have queued. */
    commentId: bigint('comment_id', { mode: 'number' }),
    /** The hooks whose deliveries led to it, the first one first: none of them gets it. */
    hookChain: bigint('hook_chain', { mode: 'number' }).array().notNull().default(sql`'{}'`),
    payload: jsonb('payload').notNull(),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
    /** When the last consumer was done; null while one is pending or set aside. */
    processedAt: timestamp('processed_at', { withTimezone: true }),
  },
  (table) => [
    index('outbox_event_unprocessed').on(table.createdAt).where(sql`${table.processedAt} is null`),
    index('outbox_event_comment').on(table.commentId).where(sql`${table.commentId} is not null`),
    check('outbox_event_version_positive', sql`${table.version} > 0`),
    check('outbox_event_chain_bounded', sql`cardinality(${table.hookChain}) <= 10`),
  ],
);
