import { type Database, schema, type Transaction } from '@ghost/db';
import { eq, sql } from 'drizzle-orm';

import type { HookLane } from './hook-view.js';

/** Of a hook that nothing was ever sent to. */
export const NO_LANE: HookLane = { heldReason: null, heldAt: null, lastSuccessAt: null };

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
    })
    .from(lane)
    .where(eq(lane.lane, sql`'hook:' || ${hook.id}`))
    .as('lane_of_hook');
}
