import { sql } from 'drizzle-orm';
import { check, date, pgTable, smallint, text, timestamp } from 'drizzle-orm/pg-core';

/** Addresses that get no mail, in lower case; `since` null: strikes only, not yet suppressed. */
export const mailSuppression = pgTable(
  'mail_suppression',
  {
    address: text('address').primaryKey(),
    reason: text('reason').notNull(),
    since: timestamp('since', { withTimezone: true }),
    until: timestamp('until', { withTimezone: true }),
    strikes: smallint('strikes').notNull().default(0),
    lastStrikeOn: date('last_strike_on'),
  },
  (table) => [
    check('mail_suppression_lower_case', sql`${table.address} = lower(${table.address})`),
  ],
);
