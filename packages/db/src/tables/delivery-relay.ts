import { sql } from 'drizzle-orm';
import { boolean, check, pgTable, smallint, text, timestamp } from 'drizzle-orm/pg-core';

/** The SMTP relay's own state, one row: while it rests, no mail is claimed and none is charged. */
export const deliveryRelay = pgTable(
  'delivery_relay',
  {
    id: boolean('id').primaryKey().default(true),
    pausedUntil: timestamp('paused_until', { withTimezone: true }),
    reason: text('reason'),
    failures: smallint('failures').notNull().default(0),
  },
  (table) => [
    check('delivery_relay_one_row', sql`${table.id}`),
    check(
      'delivery_relay_pause_has_reason',
      sql`${table.pausedUntil} is null or ${table.reason} is not null`,
    ),
  ],
);
