import { pgTable, primaryKey, smallint, text } from 'drizzle-orm/pg-core';

/**
 * One row a lane, never updated: who makes a lane holds its row here (a trigger of `delivery_lane`).
 * A unique index of the lane's own row would look at each version that an old snapshot keeps.
 */
export const deliveryLaneKey = pgTable(
  'delivery_lane_key',
  {
    lane: text('lane').notNull(),
    version: smallint('version').notNull(),
  },
  (table) => [primaryKey({ name: 'delivery_lane_key_pkey', columns: [table.lane, table.version] })],
);
