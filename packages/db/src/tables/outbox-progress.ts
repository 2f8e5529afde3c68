import { sql } from 'drizzle-orm';
import {
  bigint,
  check,
  index,
  pgTable,
  primaryKey,
  smallint,
  text,
  timestamp,
  uuid,
} from 'drizzle-orm/pg-core';

import { outboxEvent } from './outbox-event.js';

/** How far one consumer is with one event. */
export const outboxProgress = pgTable(
  'outbox_progress',
  {
    eventId: uuid('event_id')
      .notNull()
      .references(() => outboxEvent.id, { onDelete: 'cascade' }),
    consumer: text('consumer').notNull(),
    /** Where the next page starts; its form is the consumer's. */
    cursor: text('cursor'),
    /** Starts since the last progress. */
    attempts: smallint('attempts').notNull().default(0),
    lastError: text('last_error'),
    runAt: timestamp('run_at', { withTimezone: true }).notNull().defaultNow(),
    leaseUntil: timestamp('lease_until', { withTimezone: true }),
    leaseNo: bigint('lease_no', { mode: 'number' }).notNull().default(0),
    doneAt: timestamp('done_at', { withTimezone: true }),
    setAsideAt: timestamp('set_aside_at', { withTimezone: true }),
  },
  (table) => [
    primaryKey({ name: 'outbox_progress_pkey', columns: [table.eventId, table.consumer] }),
    index('outbox_progress_due')
      .on(table.runAt, table.eventId)
      .where(sql`${table.doneAt} is null and ${table.setAsideAt} is null`),
    index('outbox_progress_set_aside')
      .on(table.setAsideAt)
      .where(sql`${table.setAsideAt} is not null`),
    check('outbox_progress_one_end', sql`${table.doneAt} is null or ${table.setAsideAt} is null`),
    check(
      'outbox_progress_ended_has_no_lease',
      sql`(${table.doneAt} is null and ${table.setAsideAt} is null) or ${table.leaseUntil} is null`,
    ),
  ],
);
