import { JOB_VERSION } from '@ghost/contract';

import { kindOfLane } from '../lane.js';
import type { Sql } from '../queue.js';

/** Bounds how many jobs of a lane are claimed in any minute; works for a lane that has no job yet. */
export async function limitRate(tx: Sql, lane: string, perMinute: number | null): Promise<void> {
  if (perMinute !== null && !(Number.isInteger(perMinute) && perMinute > 0)) {
    throw new RangeError(
      `A lane may have a whole number of jobs a minute, from 1, not ${perMinute}.`,
    );
  }
  await tx.query('SELECT delivery_limit_rate($1, $2, $3::smallint, $4::integer)', [
    lane,
    kindOfLane(lane),
    JOB_VERSION,
    perMinute,
  ]);
}
