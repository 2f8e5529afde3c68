import { sql } from 'drizzle-orm';
import { bigint, boolean, check, index, pgTable, text, timestamp } from 'drizzle-orm/pg-core';

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
    active: boolean('active').notNull().default(true),
    /** Also send GitHub's `x-hub-signature-256`. */
    githubSignature: boolean('github_signature').notNull().default(false),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
    updatedAt: timestamp('updated_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [
    index('hook_repository').on(table.repositoryId, table.id),
    check('hook_events_some', sql`cardinality(${table.events}) > 0`),
  ],
);
