import { sql } from 'drizzle-orm';
import { boolean, check, pgTable, timestamp } from 'drizzle-orm/pg-core';

/**
 * When the next mail of all workers may go to the relay, where it has a rate: one row. Apart from `delivery_relay`, as claims
 * read that one, and an old snapshot keeps each version of what is written for ever.
 */
export const deliveryRelayTurn = pgTable(
  'delivery_relay_turn',
  {
    id: boolean('id').primaryKey().default(true),
    nextAt: timestamp('next_at', { withTimezone: true }).notNull(),
  },
  (table) => [check('delivery_relay_turn_one_row', sql`${table.id}`)],
);
