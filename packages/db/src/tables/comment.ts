import { sql } from 'drizzle-orm';
import { bigint, check, pgTable, text, timestamp, unique } from 'drizzle-orm/pg-core';

import { account } from './account.js';
import { thread } from './thread.js';

export const comment = pgTable(
  'comment',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    threadId: bigint('thread_id', { mode: 'number' })
      .notNull()
      .references(() => thread.id, { onDelete: 'cascade' }),
    /** Within its thread, from 1, without gaps; never given again. */
    number: bigint('number', { mode: 'number' }).notNull(),
    authorId: bigint('author_id', { mode: 'number' })
      .notNull()
      .references(() => account.id),
    body: text('body').notNull(),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
    updatedAt: timestamp('updated_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [
    unique('comment_number_unique').on(table.threadId, table.number),
    check('comment_number_positive', sql`${table.number} > 0`),
  ],
);
