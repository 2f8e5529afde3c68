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

/** A repository. Its row is the lock between fan-out (FOR SHARE) and a loss of access (FOR NO KEY UPDATE). */
export const repository = pgTable(
  'repository',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    ownerId: bigint('owner_id', { mode: 'number' })
      .notNull()
      .references(() => account.id),
    name: text('name').notNull(),
    description: text('description'),
    private: boolean('private').notNull().default(false),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
    updatedAt: timestamp('updated_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [
    uniqueIndex('repository_owner_name_unique').on(table.ownerId, sql`lower(${table.name})`),
    // Lists of an owner's, by id, and their counts.
    index('repository_public').on(table.ownerId, table.id).where(sql`not ${table.private}`),
    index('repository_private').on(table.ownerId, table.id).where(sql`${table.private}`),
    check('repository_name_form', sql`${table.name} ~ '^[A-Za-z0-9._-]{1,100}$'`),
  ],
);
