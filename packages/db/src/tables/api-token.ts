import { sql } from 'drizzle-orm';
import {
  bigint,
  check,
  customType,
  index,
  pgTable,
  text,
  timestamp,
  unique,
} from 'drizzle-orm/pg-core';

import { account } from './account.js';

const bytea = customType<{ data: Buffer }>({ dataType: () => 'bytea' });

/**
 * What a token may be used for: repositories with their threads, hooks, and the account with all that
 * decides on access (tokens, addresses, collaborators, visibility, deletion). None includes another.
 */
export const API_SCOPES = ['repo', 'hooks', 'admin'] as const;
export type ApiScope = (typeof API_SCOPES)[number];

/** An API token: only its SHA-256 is kept; it has 238 random bits, so a plain hash is enough. */
export const apiToken = pgTable(
  'api_token',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    accountId: bigint('account_id', { mode: 'number' })
      .notNull()
      .references(() => account.id, { onDelete: 'cascade' }),
    label: text('label').notNull(),
    tokenHash: bytea('token_hash').notNull(),
    scopes: text('scopes', { enum: API_SCOPES }).array().notNull(),
    /** Null: it does not end by itself. */
    expiresAt: timestamp('expires_at', { withTimezone: true }),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
    revokedAt: timestamp('revoked_at', { withTimezone: true }),
  },
  (table) => [
    unique('api_token_hash_unique').on(table.tokenHash),
    index('api_token_account').on(table.accountId),
    // Counts and lists them, however many were revoked before.
    index('api_token_live').on(table.accountId, table.id).where(sql`${table.revokedAt} is null`),
    check(
      'api_token_scopes_known',
      sql`cardinality(${table.scopes}) > 0 and ${table.scopes} <@ array['repo', 'hooks', 'admin']`,
    ),
    check(
      'api_token_ends_after_start',
      sql`${table.expiresAt} is null or ${table.expiresAt} > ${table.createdAt}`,
    ),
  ],
);
