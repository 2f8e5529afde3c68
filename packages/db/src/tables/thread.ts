import { sql } from 'drizzle-orm';
import { bigint, check, pgTable, text, timestamp, unique } from 'drizzle-orm/pg-core';

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
  },
  (table) => [
    unique('thread_number_unique').on(table.repositoryId, table.number),
    check('thread_state_known', sql`${table.state} in ('open', 'closed')`),
  ],
);
