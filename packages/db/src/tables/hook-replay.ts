import { sql } from 'drizzle-orm';
import {
  bigint,
  check,
  index,
  integer,
  jsonb,
  pgTable,
  text,
  timestamp,
  uniqueIndex,
} from 'drizzle-orm/pg-core';

import { hook } from './hook.js';

/**
 * A replay in bulk: ended deliveries of one hook that are sent again, as many at a time as the hook takes. What is to be
 * sent is fixed when it is made (`hook_replay_target`); counts here are of targets that are through with it.
 */
export const hookReplay = pgTable(
  'hook_replay',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    /** Null: the hook was deleted, which ends it. */
    hookId: bigint('hook_id', { mode: 'number' }).references(() => hook.id, {
      onDelete: 'set null',
    }),
    /** `failed`: dead ones; `undelivered`: cancelled ones too; `all`: those that were delivered too. */
    which: text('which', { enum: ['failed', 'undelivered', 'all'] }).notNull(),
    /** It is of deliveries that ended from then on, */
    since: timestamp('since', { withTimezone: true }).notNull(),
    /** and before that. */
    until: timestamp('until', { withTimezone: true }).notNull(),
    /** Who started it; null: an operator at the command line. */
    accountId: bigint('account_id', { mode: 'number' }),
    account: text('account').notNull(),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
    total: integer('total').notNull(),
    /** Targets up to there were made pending, or skipped. */
    reached: integer('reached').notNull().default(0),
    /** No target before it is pending: where a look for them starts. */
    low: integer('low').notNull().default(1),
    delivered: integer('delivered').notNull().default(0),
    dead: integer('dead').notNull().default(0),
    cancelled: integer('cancelled').notNull().default(0),
    /** How many were not made pending, by reason. */
    skipped: jsonb('skipped').$type<Record<string, number>>().notNull().default({}),
    /** So many that nobody tried yet may be pending: it grows while the hook takes all between two looks. */
    ahead: integer('ahead').notNull(),
    pauseMs: integer('pause_ms').notNull().default(0),
    /** Its next step; infinity: it waits for a wake. */
    nextAt: timestamp('next_at', { withTimezone: true }).notNull().defaultNow(),
    /** When the last target was made pending or skipped, or when it was cancelled. */
    handedAt: timestamp('handed_at', { withTimezone: true }),
    cancelledAt: timestamp('cancelled_at', { withTimezone: true }),
    /** When the last of what was made pending had ended. */
    endedAt: timestamp('ended_at', { withTimezone: true }),
  },
  (table) => [
    index('hook_replay_hook').on(table.hookId, table.id),
    uniqueIndex('hook_replay_one_a_hook').on(table.hookId).where(sql`${table.handedAt} is null`),
    index('hook_replay_open').on(table.id).where(sql`${table.endedAt} is null`),
    check('hook_replay_which_known', sql`${table.which} in ('failed', 'undelivered', 'all')`),
    check('hook_replay_until_after_since', sql`${table.until} > ${table.since}`),
    check('hook_replay_reached_within', sql`${table.reached} between 0 and ${table.total}`),
    check(
      'hook_replay_counts_within',
      sql`least(${table.delivered}, ${table.dead}, ${table.cancelled}) >= 0 and ${table.delivered} + ${table.dead} + ${table.cancelled} <= ${table.reached}`,
    ),
    check(
      'hook_replay_handed_when_over',
      sql`${table.handedAt} is not null or (${table.cancelledAt} is null and ${table.endedAt} is null)`,
    ),
    check(
      'hook_replay_handed_iff_through',
      sql`${table.cancelledAt} is not null or (${table.handedAt} is not null) = (${table.reached} = ${table.total})`,
    ),
  ],
);
