import type { HookFilter } from '@ghost/contract';
import { sql } from 'drizzle-orm';
import {
  bigint,
  boolean,
  check,
  index,
  integer,
  jsonb,
  pgTable,
  text,
  timestamp,
} from 'drizzle-orm/pg-core';

import { repository } from './repository.js';

/** A webhook endpoint. `active` is the person's switch; what policy or a 410 stops is held on its lane. */
export const hook = pgTable(
  'hook',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    repositoryId: bigint('repository_id', { mode: 'number' })
      .notNull()
      .references(() => repository.id, { onDelete: 'cascade' }),
    url: text('url').notNull(),
    events: text('events').array().notNull(),
    /** What must hold of an event's payload besides; judged by `hookFilters` of `@ghost/contract`. */
    filters: jsonb('filters').$type<HookFilter[]>().notNull().default([]),
    active: boolean('active').notNull().default(true),
    /** Also send GitHub's `x-hub-signature-256`. */
    githubSignature: boolean('github_signature').notNull().default(false),
    /** Certificates of its endpoint are not verified. */
    insecureSsl: boolean('insecure_ssl').notNull().default(false),
    /** Most deliveries in any minute, as its lane has it; null: no bound. */
    rateLimit: integer('rate_limit'),
    /** Names of its custom headers, in lower case: what may be shown of them. */
    headerNames: text('header_names').array().notNull().default(sql`'{}'`),
    /** Names and values, sealed (see `sealHookHeaders` of `@ghost/vault`); null when it has none. */
    headersCiphertext: text('headers_ciphertext'),
    /** When its secret was replaced; null while it has its first. */
    secretChangedAt: timestamp('secret_changed_at', { withTimezone: true }),
    /** Until then the one before signed, or signs, too: `secret_changed_at` when it ended at once. */
    oldSecretUntil: timestamp('old_secret_until', { withTimezone: true }),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
    updatedAt: timestamp('updated_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [
    index('hook_repository').on(table.repositoryId, table.id),
    check('hook_rate_limit_positive', sql`${table.rateLimit} is null or ${table.rateLimit} > 0`),
    check('hook_events_some', sql`cardinality(${table.events}) > 0`),
    check(
      'hook_filters_bounded',
      sql`case when jsonb_typeof(${table.filters}) = 'array' then jsonb_array_length(${table.filters}) <= 10 else false end`,
    ),
    check(
      'hook_headers_sealed',
      sql`(${table.headersCiphertext} is null) = (cardinality(${table.headerNames}) = 0)`,
    ),
    check(
      'hook_old_secret_ends_after_change',
      sql`(${table.secretChangedAt} is null) = (${table.oldSecretUntil} is null) and (${table.oldSecretUntil} is null or ${table.oldSecretUntil} >= ${table.secretChangedAt})`,
    ),
  ],
);
