import { sql } from 'drizzle-orm';
import { bigint, check, index, pgTable, text, timestamp, unique } from 'drizzle-orm/pg-core';

import { account } from './account.js';
import { repository } from './repository.js';

export const thread = pgTable(
  'thread',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    repositoryId: bigint('repository_id', { mode: 'number' })
      .notNull()
      .references(() => repository.id, { onDelete: 'cascade' }),
    number: bigint('number', { mode: 'number' }).notNull(),
    authorId: bigint('author_id', { mode: 'number' })
      .notNull()
      .references(() => account.id),
    title: text('title').notNull(),
    body: text('body').notNull(),
    state: text('state', { enum: ['open', 'closed'] })
      .notNull()
      .default('open'),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
    updatedAt: timestamp('updated_at', { withTimezone: true }).notNull().defaultNow(),
    closedAt: timestamp('closed_at', { withTimezone: true }),
  },
  (table) => [
    unique('thread_number_unique').on(table.repositoryId, table.number),
    // Lists of one state, by number.
    index('thread_state').on(table.repositoryId, table.state, table.number),
    check(
      'thread_closed_iff_ended',
      sql`(${table.state} = 'closed') = (${table.closedAt} is not null)`,
    ),
    check('thread_state_known', sql`${table.state} in ('open', 'closed')`),
  ],
);
