import type { Pool } from '@ghost/db';

/**
 * Holds a row as somebody does who changed it by hand and did not commit yet.
 * @returns what lets go of it, once; whoever calls sees to it that it is called before the pool ends
 */
export async function holdRow(
  pool: Pool,
  table: 'delivery_lane' | 'delivery_job' | 'outbox_event' | 'repository',
  key: 'lane' | 'id',
  value: string,
): Promise<() => Promise<void>> {
  const client = await pool.connect();
  await client.query('BEGIN');
  await client.query(`SELECT FROM ${table} WHERE ${key} = $1 FOR NO KEY UPDATE`, [value]);
  let held = true;
  return async () => {
    if (!held) return;
    held = false;
    await client.query('ROLLBACK');
    client.release();
  };
}
