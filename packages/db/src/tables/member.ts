import { sql } from 'drizzle-orm';
import { bigint, check, index, pgTable, primaryKey, text, timestamp } from 'drizzle-orm/pg-core';

import { account } from './account.js';
import { repository } from './repository.js';

/** Who may use a repository besides its owner. */
export const member = pgTable(
  'member',
  {
    repositoryId: bigint('repository_id', { mode: 'number' })
      .notNull()
      .references(() => repository.id, { onDelete: 'cascade' }),
    accountId: bigint('account_id', { mode: 'number' })
      .notNull()
      .references(() => account.id, { onDelete: 'cascade' }),
    permission: text('permission', { enum: ['read', 'write', 'admin'] }).notNull(),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [
    primaryKey({ name: 'member_pkey', columns: [table.repositoryId, table.accountId] }),
    // Lists of a person's repositories, by id.
    index('member_account_repository').on(table.accountId, table.repositoryId),
    // Lists of those who may do so much, by id.
    index('member_permission').on(table.repositoryId, table.permission, table.accountId),
    check('member_permission_known', sql`${table.permission} in ('read', 'write', 'admin')`),
  ],
);
