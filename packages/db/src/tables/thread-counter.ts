import { bigint, pgTable } from 'drizzle-orm/pg-core';

import { repository } from './repository.js';

/** The next thread number of a repository: a row of its own, for on `repository` it would wait behind fan-out's FOR SHARE. */
export const threadCounter = pgTable('thread_counter', {
  repositoryId: bigint('repository_id', { mode: 'number' })
    .primaryKey()
    .references(() => repository.id, { onDelete: 'cascade' }),
  last: bigint('last', { mode: 'number' }).notNull().default(0),
});
