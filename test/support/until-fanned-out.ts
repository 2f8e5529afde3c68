import type { Pool } from '@ghost/db';

import { waitUntil } from './wait-until.js';

/** Waits until no event waits for its fan-out, which waits for locks as requests do. */
export async function untilFannedOut(pool: Pool, timeoutMs?: number): Promise<void> {
  await waitUntil(
    async () => {
      const { rows } = await pool.query('SELECT FROM outbox_event WHERE processed_at IS NULL');
      return rows.length === 0;
    },
    { what: 'fan-out to end', ...(timeoutMs === undefined ? {} : { timeoutMs }) },
  );
}
