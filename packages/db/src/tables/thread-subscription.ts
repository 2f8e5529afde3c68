import { sql } from 'drizzle-orm';
import {
  bigint,
  boolean,
  check,
  index,
  pgTable,
  primaryKey,
  text,
  timestamp,
} from 'drizzle-orm/pg-core';

import { account } from './account.js';
import { thread } from './thread.js';

/** Who takes part in a thread and why, or (muted) wants nothing more of it. */
export const threadSubscription = pgTable(
  'thread_subscription',
  {
    threadId: bigint('thread_id', { mode: 'number' })
      .notNull()
      .references(() => thread.id, { onDelete: 'cascade' }),
    accountId: bigint('account_id', { mode: 'number' })
      .notNull()
      .references(() => account.id, { onDelete: 'cascade' }),
    reason: text('reason', { enum: ['author', 'participant', 'mention', 'manual'] }).notNull(),
    muted: boolean('muted').notNull().default(false),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [
    primaryKey({ name: 'thread_subscription_pkey', columns: [table.threadId, table.accountId] }),
    index('thread_subscription_account').on(table.accountId),
    check(
      'thread_subscription_reason_known',
      sql`${table.reason} in ('author', 'participant', 'mention', 'manual')`,
    ),
  ],
);
