import { sql } from 'drizzle-orm';
import {
  bigint,
  boolean,
  check,
  foreignKey,
  index,
  jsonb,
  pgTable,
  smallint,
  text,
  timestamp,
  unique,
  uuid,
} from 'drizzle-orm/pg-core';

import { deliveryContent } from './delivery-content.js';
import { outboxEvent } from './outbox-event.js';

/**
 * The queue: one finished message to one destination a row. Narrow and hot: a claim changes no
 * indexed column, so its update stays on the page (HOT), and an expired lease is simply due again.
 */
export const deliveryJob = pgTable(
  'delivery_job',
  {
    id: uuid('id').primaryKey(),
    runAt: timestamp('run_at', { withTimezone: true }).notNull().defaultNow(),
    expiresAt: timestamp('expires_at', { withTimezone: true }).notNull(),
    leaseUntil: timestamp('lease_until', { withTimezone: true }),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
    finishedAt: timestamp('finished_at', { withTimezone: true }),
    leaseNo: bigint('lease_no', { mode: 'number' }).notNull().default(0),
    eventId: uuid('event_id').references(() => outboxEvent.id),
    /** The content of its event and kind, to which the foreign key leads. */
    contentId: uuid('content_id').notNull(),
    repositoryId: bigint('repository_id', { mode: 'number' }),
    accountId: bigint('account_id', { mode: 'number' }),
    hookId: bigint('hook_id', { mode: 'number' }),
    version: smallint('version').notNull(),
    /** Charged tries since enqueue or the last redelivery: the budget. */
    attempts: smallint('attempts').notNull().default(0),
    /** Tries ever charged: `x-ghost-attempt` is one more. */
    tries: smallint('tries').notNull().default(0),
    /** Claims since the last settle or release: above zero with no lease alive, its worker died. */
    abandoned: smallint('abandoned').notNull().default(0),
    redelivery: boolean('redelivery').notNull().default(false),
    status: text('status', { enum: ['pending', 'delivered', 'dead', 'cancelled'] })
      .notNull()
      .default('pending'),
    kind: text('kind', { enum: ['email', 'webhook'] }).notNull(),
    lane: text('lane').notNull(),
    idempotencyKey: text('idempotency_key').notNull(),
    /** The job's own parts: `{event}` of a webhook, recipient and slots of a mail. */
    own: jsonb('own').notNull(),
    lastError: text('last_error'),
  },
  (table) => [
    unique('delivery_job_idempotency_key_unique').on(table.idempotencyKey),
    // Not by `content_id`: whoever deletes a content looks for its jobs, and that column has no index.
    foreignKey({
      name: 'delivery_job_content_of_event',
      columns: [table.eventId, table.kind],
      foreignColumns: [deliveryContent.eventId, deliveryContent.kind],
    }),
    index('delivery_job_lane_pending')
      .on(table.lane, table.version, table.runAt, table.id)
      .where(sql`${table.status} = 'pending'`),
    // For cancelling when access is lost or a hook goes.
    index('delivery_job_account_pending')
      .on(table.repositoryId, table.accountId)
      .where(sql`${table.status} = 'pending' and ${table.accountId} is not null`),
    index('delivery_job_event').on(table.eventId),
    // For replays; what was delivered has no entry, so it costs that nothing (docs/decisions/0043).
    index('delivery_job_hook_failed')
      .on(table.hookId, table.finishedAt)
      .where(sql`${table.hookId} is not null and ${table.status} in ('dead', 'cancelled')`),
    check(
      'delivery_job_status_known',
      sql`${table.status} in ('pending', 'delivered', 'dead', 'cancelled')`,
    ),
    check('delivery_job_kind_known', sql`${table.kind} in ('email', 'webhook')`),
    check(
      'delivery_job_lane_fits_kind',
      sql`(${table.kind} = 'webhook' and ${table.lane} like 'hook:%') or (${table.kind} = 'email' and ${table.lane} like 'mail:%')`,
    ),
    check(
      'delivery_job_webhook_names_hook',
      sql`(${table.kind} = 'webhook') = (${table.hookId} is not null)`,
    ),
    check(
      'delivery_job_finished_iff_ended',
      sql`(${table.status} = 'pending') = (${table.finishedAt} is null)`,
    ),
    check(
      'delivery_job_lease_only_pending',
      sql`${table.status} = 'pending' or ${table.leaseUntil} is null`,
    ),
    check(
      'delivery_job_counts_positive',
      sql`${table.attempts} >= 0 and ${table.tries} >= 0 and ${table.abandoned} >= 0`,
    ),
  ],
);
