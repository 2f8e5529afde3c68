import { sql } from 'drizzle-orm';
import {
  bigint,
  boolean,
  check,
  index,
  integer,
  pgTable,
  primaryKey,
  smallint,
  text,
  timestamp,
  uuid,
} from 'drizzle-orm/pg-core';

/**
 * One row a destination and job version. Invariant: every committed pending job has a lane row whose
 * `next_at` is no later than the job's due time, unless the lane is full, resting or held. That there
 * is one row a lane is seen to by `delivery_lane_key`: a second that is inserted is left out.
 */
export const deliveryLane = pgTable(
  'delivery_lane',
  {
    lane: text('lane').notNull(),
    version: smallint('version').notNull(),
    /**
     * Updates of the row by the verbs of every job. Last in the key, it makes each version's entry its own: those that an
     * old snapshot keeps stand behind the newest, and are not looked at.
     */
    moves: bigint('moves', { mode: 'number' }).notNull().default(0),
    kind: text('kind', { enum: ['email', 'webhook'] }).notNull(),
    nextAt: timestamp('next_at', { withTimezone: true }).notNull().default(sql`'infinity'`),
    /** No pending job is due before it: where a claim starts to look. */
    mark: timestamp('mark', { withTimezone: true }).notNull().default(sql`'-infinity'`),
    /** Greatest (run_at, id) leased: up to there live leases are counted. */
    leasedTo: timestamp('leased_to', { withTimezone: true }).notNull().default(sql`'-infinity'`),
    leasedToId: uuid('leased_to_id').notNull().default(sql`'00000000-0000-0000-0000-000000000000'`),
    full: boolean('full').notNull().default(false),
    /**
     * `proven`: a recent success. `slow`: none, so it shares half of a worker's slots with all such. `suspect`: a
     * job of it was in hand when its worker died, twice: it is claimed alone, and the others wait for that.
     */
    standing: text('standing', { enum: ['proven', 'slow', 'suspect'] })
      .notNull()
      .default('slow'),
    /** Sends at once at most; null: the worker's default. */
    slots: smallint('slots'),
    /** Sends at once that it has earned (slow start): one more a success, one in all after a time-out. */
    earned: smallint('earned').notNull().default(1),
    /** Failures since the last success; from five on it is probed, one job at a time (breaker). */
    failures: smallint('failures').notNull().default(0),
    lastSuccessAt: timestamp('last_success_at', { withTimezone: true }),
    /** The first failure since the last success; null after a success. */
    failingSince: timestamp('failing_since', { withTimezone: true }),
    /** Most jobs claimed in any minute; null: no bound. */
    perMinute: integer('per_minute'),
    /** When all that was claimed under that bound is paid for, one at a time: behind now, nothing is owed. */
    paidAt: timestamp('paid_at', { withTimezone: true }),
    /** The machine's pause (429, 503, breaker): ends by itself. */
    notBefore: timestamp('not_before', { withTimezone: true }),
    /** People's and policy's pause: ends when someone resumes it. */
    heldReason: text('held_reason'),
    heldAt: timestamp('held_at', { withTimezone: true }),
    /** When its people were last told that it fails; it counts for the streak of failures that began before. */
    warnedAt: timestamp('warned_at', { withTimezone: true }),
    /** Whose lanes share a quarter of a worker's slots. */
    ownerId: bigint('owner_id', { mode: 'number' }),
    /** Where it leads, as the last enqueue knew it: lanes of one host share its sends. */
    host: text('host'),
  },
  (table) => [
    primaryKey({ name: 'delivery_lane_pkey', columns: [table.lane, table.version, table.moves] }),
    index('delivery_lane_due')
      .on(table.kind, table.version, table.standing, table.nextAt)
      .where(sql`${table.nextAt} < 'infinity'`),
    // Fan-out asks it of every hook, and once a day what outlived its time is looked for: there are few entries, and none
    // for a lane that is not held.
    index('delivery_lane_held')
      .on(table.lane, table.version)
      .where(sql`${table.heldReason} is not null`),
    check('delivery_lane_kind_known', sql`${table.kind} in ('email', 'webhook')`),
    check('delivery_lane_slots_positive', sql`${table.slots} is null or ${table.slots} > 0`),
    check('delivery_lane_earned_positive', sql`${table.earned} > 0`),
    check('delivery_lane_standing_known', sql`${table.standing} in ('proven', 'slow', 'suspect')`),
    check(
      'delivery_lane_held_has_time',
      sql`(${table.heldReason} is null) = (${table.heldAt} is null)`,
    ),
  ],
);
