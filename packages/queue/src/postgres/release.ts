import type { Lease, Sql } from '../queue.js';
import { leasesJson } from './leases-json.js';

/** Gives unstarted jobs back, due at once and uncharged, and wakes the other workers. */
export async function release(sql: Sql, leases: readonly Lease[]): Promise<number> {
  if (leases.length === 0) return 0;
  const [row] = await sql.query<{ released: number }>(
    'SELECT delivery_release($1::json) AS released',
    [leasesJson(leases)],
  );
  return row?.released ?? 0;
}
