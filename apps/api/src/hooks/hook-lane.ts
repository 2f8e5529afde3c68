import { type Database, schema, type Transaction } from '@ghost/db';
import { and, eq, sql } from 'drizzle-orm';

import type { HookLane, KeptJobs } from './hook-view.js';

/** Of a hook that nothing was ever sent to. */
export const NO_LANE: HookLane = {
  heldReason: null,
  heldAt: null,
  lastSuccessAt: null,
  failingSince: null,
};

export const NOTHING_KEPT: KeptJobs = { jobs: 0, oldestExpiresAt: null };

/** More deliveries of a held hook are not counted: twice as many as can be set. */
const COUNTED = 200_000;

/** The lane of `schema.hook`, whatever version its jobs have; to be joined laterally. */
export function laneOfHook(db: Database | Transaction) {
  const { deliveryLane: lane, hook } = schema;
  return db
    .select({
      heldReason: sql<string | null>`min(${lane.heldReason})`.as('held_reason'),
      heldAt: sql<Date | null>`min(${lane.heldAt})`.mapWith(lane.heldAt).as('held_at'),
      lastSuccessAt: sql<Date | null>`max(${lane.lastSuccessAt})`
        .mapWith(lane.lastSuccessAt)
        .as('last_success_at'),
      failingSince: sql<Date | null>`min(${lane.failingSince})`
        .mapWith(lane.failingSince)
        .as('failing_since'),
    })
    .from(lane)
    .where(eq(lane.lane, sql`'hook:' || ${hook.id}`))
    .as('lane_of_hook');
}

/** What the lane of `schema.hook` keeps, if it is held: read for nothing else. To be joined laterally. */
export function keptOfHook(db: Database | Transaction, lane: ReturnType<typeof laneOfHook>) {
  const { deliveryJob: job, hook } = schema;
  const pending = db
    .select({ expiresAt: job.expiresAt })
    .from(job)
    .where(
      and(
        sql`${lane.heldReason} is not null`,
        eq(job.lane, sql`'hook:' || ${hook.id}`),
        // As a literal: by a parameter the index of pending jobs could not be taken.
        eq(job.status, sql.raw("'pending'")),
      ),
    )
    .limit(COUNTED)
    .as('kept_job');
  return db
    .select({
      jobs: sql<number>`count(*)`.mapWith(Number).as('kept_jobs'),
      oldestExpiresAt: sql<Date | null>`min(${pending.expiresAt})`
        .mapWith(job.expiresAt)
        .as('oldest_expires_at'),
    })
    .from(pending)
    .as('kept_of_hook');
}
