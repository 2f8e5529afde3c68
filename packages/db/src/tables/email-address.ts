import { sql } from 'drizzle-orm';
import {
  bigint,
  boolean,
  check,
  index,
  pgTable,
  text,
  timestamp,
  uniqueIndex,
} from 'drizzle-orm/pg-core';

import { account } from './account.js';

/** Addresses of a person. Mail goes to the primary one, and only once it is verified. */
export const emailAddress = pgTable(
  'email_address',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    accountId: bigint('account_id', { mode: 'number' })
      .notNull()
      .references(() => account.id, { onDelete: 'cascade' }),
    address: text('address').notNull(),
    isPrimary: boolean('is_primary').notNull().default(false),
    verifiedAt: timestamp('verified_at', { withTimezone: true }),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [
    uniqueIndex('email_address_account_unique').on(table.accountId, sql`lower(${table.address})`),
    // Fan-out finds a reader's address by it.
    uniqueIndex('email_address_one_primary').on(table.accountId).where(sql`${table.isPrimary}`),
    // Tells whether a mail lane could ever get mail.
    index('email_address_domain').on(sql`lower(split_part(${table.address}, '@', 2))`),
    // RFC 5321, 4.5.3.1.3: a path of 256 octets with its angle brackets.
    check(
      'email_address_length',
      sql`length(${table.address}) between 3 and 254 and strpos(${table.address}, '@') > 1`,
    ),
  ],
);
