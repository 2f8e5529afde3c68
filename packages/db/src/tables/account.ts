import { sql } from 'drizzle-orm';
import { bigint, boolean, check, pgTable, text, timestamp, uniqueIndex } from 'drizzle-orm/pg-core';

/** A person. Logins are unique without case. */
export const account = pgTable(
  'account',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    login: text('login').notNull(),
    name: text('name').notNull(),
    isAdmin: boolean('is_admin').notNull().default(false),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [
    uniqueIndex('account_login_unique').on(sql`lower(${table.login})`),
    check('account_login_form', sql`${table.login} ~ '^[A-Za-z0-9]([A-Za-z0-9-]{0,38})$'`),
  ],
);
