import type { Lease, Sql } from '../queue.js';

/** Whether the job is still pending under this fence: false once it was cancelled or claimed anew. */
export async function confirm(sql: Sql, lease: Lease): Promise<boolean> {
  const rows = await sql.query(
    `SELECT FROM delivery_job WHERE id = $1 AND lease_no = $2 AND status = 'pending' AND lease_until > now()`,
    [lease.id, lease.leaseNo],
  );
  return rows.length === 1;
}
