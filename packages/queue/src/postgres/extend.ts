import type { Lease, Sql } from '../queue.js';
import { leasesJson } from './leases-json.js';

/** Moves the end of current leases and tells which are still held. */
export async function extend<L extends Lease>(
  sql: Sql,
  leases: readonly L[],
  leaseMs: number,
): Promise<Set<L>> {
  if (leases.length === 0) return new Set();
  const rows = await sql.query<{ id: string; lease_no: string }>(
    'SELECT id, lease_no FROM delivery_extend($1::json, $2)',
    [leasesJson(leases), leaseMs],
  );
  const current = new Map(rows.map((row) => [row.id, Number(row.lease_no)]));
  // A worker that got its own lost job again holds two leases of it: one counts.
  return new Set(leases.filter(({ id, leaseNo }) => current.get(id) === leaseNo));
}
