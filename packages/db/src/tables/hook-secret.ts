import { sql } from 'drizzle-orm';
import { bigint, check, index, pgTable, text, timestamp } from 'drizzle-orm/pg-core';

import { hook } from './hook.js';

/** Secrets of a hook as ciphertext (see `@ghost/vault`); while rotating, two are live. */
export const hookSecret = pgTable(
  'hook_secret',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    hookId: bigint('hook_id', { mode: 'number' })
      .notNull()
      .references(() => hook.id, { onDelete: 'cascade' }),
    ciphertext: text('ciphertext').notNull(),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
    expiresAt: timestamp('expires_at', { withTimezone: true }),
  },
  (table) => [
    index('hook_secret_hook').on(table.hookId),
    check(
      'hook_secret_ends_after_start',
      sql`${table.expiresAt} is null or ${table.expiresAt} > ${table.createdAt}`,
    ),
  ],
);
