import { JOB_VERSION } from '@ghost/contract';

import type { Sql } from '../queue.js';

/** Keeps a lane's jobs until someone resumes it; works for a lane that has no job yet. */
export async function hold(tx: Sql, lane: string, reason: string): Promise<void> {
  const kind = lane.startsWith('hook:') ? 'webhook' : 'email';
  await tx.query('SELECT delivery_hold($1, $2, $3::smallint, $4)', [
    lane,
    kind,
    JOB_VERSION,
    reason,
  ]);
}
