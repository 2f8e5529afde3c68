import { bigint, pgTable } from 'drizzle-orm/pg-core';

import { thread } from './thread.js';

/** The last comment number of a thread: numbers have no gaps, so they are given under this row's lock. */
export const commentCounter = pgTable('comment_counter', {
  threadId: bigint('thread_id', { mode: 'number' })
    .primaryKey()
    .references(() => thread.id, { onDelete: 'cascade' }),
  last: bigint('last', { mode: 'number' }).notNull().default(0),
});
