import { bigint, customType, index, pgTable, text, timestamp, unique } from 'drizzle-orm/pg-core';

import { account } from './account.js';

const bytea = customType<{ data: Buffer }>({ dataType: () => 'bytea' });

/** An API token: only its SHA-256 is kept; it has 160 random bits, so a plain hash is enough. */
export const apiToken = pgTable(
  'api_token',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    accountId: bigint('account_id', { mode: 'number' })
      .notNull()
      .references(() => account.id, { onDelete: 'cascade' }),
    label: text('label').notNull(),
    tokenHash: bytea('token_hash').notNull(),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
    revokedAt: timestamp('revoked_at', { withTimezone: true }),
  },
  (table) => [
    unique('api_token_hash_unique').on(table.tokenHash),
    index('api_token_account').on(table.accountId),
  ],
);
