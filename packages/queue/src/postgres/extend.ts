import type { Lease, Sql } from '../queue.js';
import { leasesJson } from './leases-json.js';

/** Moves the end of current leases and tells which are still held. */
export async function extend(
  sql: Sql,
  leases: readonly Lease[],
  leaseMs: number,
): Promise<Set<string>> {
  if (leases.length === 0) return new Set();
  const rows = await sql.query<{ id: string }>('SELECT id FROM delivery_extend($1::json, $2)', [
    leasesJson(leases),
    leaseMs,
  ]);
  return new Set(rows.map((row) => row.id));
}
