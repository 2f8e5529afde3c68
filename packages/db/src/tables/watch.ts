import { bigint, boolean, index, pgTable, primaryKey, timestamp } from 'drizzle-orm/pg-core';

import { account } from './account.js';
import { repository } from './repository.js';

/** A person's choice for a repository: watching, or (ignored) no mail at all from it. */
export const watch = pgTable(
  'watch',
  {
    repositoryId: bigint('repository_id', { mode: 'number' })
      .notNull()
      .references(() => repository.id, { onDelete: 'cascade' }),
    accountId: bigint('account_id', { mode: 'number' })
      .notNull()
      .references(() => account.id, { onDelete: 'cascade' }),
    ignored: boolean('ignored').notNull().default(false),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
  },
  // The key is the order in which fan-out pages through an audience.
  (table) => [
    primaryKey({ name: 'watch_pkey', columns: [table.repositoryId, table.accountId] }),
    index('watch_account_repository').on(table.accountId, table.repositoryId),
  ],
);
