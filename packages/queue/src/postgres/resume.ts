import { REPLAY_CHANNEL } from '@ghost/db';

import type { Sql } from '../queue.js';

/** Ends a hold; what was kept is due again. Tells whether the lane was held. */
export async function resume(tx: Sql, lane: string): Promise<boolean> {
  // A replay of a held hook waits for this, without a timer.
  const [row] = await tx.query<{ resumed: boolean }>(
    'SELECT delivery_resume($1) AS resumed, pg_notify($2, $3)',
    [lane, REPLAY_CHANNEL, ''],
  );
  return row?.resumed ?? false;
}
