import { JOB_VERSION } from '@ghost/contract';

import { kindOfLane } from '../lane.js';
import type { Sql } from '../queue.js';

/** Keeps a lane's jobs until someone resumes it; works for a lane that has no job yet. */
export async function hold(tx: Sql, lane: string, reason: string): Promise<void> {
  await tx.query('SELECT delivery_hold($1, $2, $3::smallint, $4)', [
    lane,
    kindOfLane(lane),
    JOB_VERSION,
    reason,
  ]);
}
