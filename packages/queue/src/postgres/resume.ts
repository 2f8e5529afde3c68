import type { Sql } from '../queue.js';

/** Ends a hold; what was kept is due again. Tells whether the lane was held. */
export async function resume(tx: Sql, lane: string): Promise<boolean> {
  const [row] = await tx.query<{ resumed: boolean }>('SELECT delivery_resume($1) AS resumed', [
    lane,
  ]);
  return row?.resumed ?? false;
}
