import { JOB_VERSION } from '@ghost/contract';

import { kindOfLane } from '../lane.js';
import type { Sql } from '../queue.js';

/** Sets how many jobs of a lane may be in flight; works for a lane that has no job yet. */
export async function limit(tx: Sql, lane: string, slots: number | null): Promise<void> {
  await tx.query('SELECT delivery_limit($1, $2, $3::smallint, $4::smallint)', [
    lane,
    kindOfLane(lane),
    JOB_VERSION,
    slots,
  ]);
}
