import { bigint, boolean, pgTable, timestamp } from 'drizzle-orm/pg-core';

import { account } from './account.js';

/** What mail a person wants of all repositories and threads; without a row it is as by default. */
export const mailChoice = pgTable('mail_choice', {
  accountId: bigint('account_id', { mode: 'number' })
    .primaryKey()
    .references(() => account.id, { onDelete: 'cascade' }),
  /** Of repositories that they watch. */
  watching: boolean('watching').notNull().default(true),
  /** Of threads that they take part in, subscribed to, or are mentioned in. */
  participating: boolean('participating').notNull().default(true),
  /** Of what they did themselves. */
  ownActions: boolean('own_actions').notNull().default(false),
  updatedAt: timestamp('updated_at', { withTimezone: true }).notNull().defaultNow(),
});
