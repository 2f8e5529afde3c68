import { sql } from 'drizzle-orm';
import { bigint, check, integer, pgTable, timestamp } from 'drizzle-orm/pg-core';

import { account } from './account.js';

/** How many mails an author caused in an hour by mentioning people who would have got none otherwise. */
export const mentionMails = pgTable(
  'mention_mails',
  {
    accountId: bigint('account_id', { mode: 'number' })
      .primaryKey()
      .references(() => account.id, { onDelete: 'cascade' }),
    /** Its beginning: the last in which there were any. */
    hour: timestamp('hour', { withTimezone: true }).notNull(),
    mails: integer('mails').notNull(),
  },
  (table) => [check('mention_mails_positive', sql`${table.mails} >= 0`)],
);
