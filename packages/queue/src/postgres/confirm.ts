import type { Confirmation, Lease, MailFault, Sql } from '../queue.js';
import { MAIL_FAULT, MAIL_FAULT_TABLES } from './mail-fault.js';

const CONFIRM = `
  SELECT ${MAIL_FAULT} AS fault FROM ${MAIL_FAULT_TABLES}
  WHERE j.id = $1 AND j.lease_no = $2 AND j.status = 'pending' AND j.lease_until > now()`;

/**
 * Whether a job may be sent under this fence: `lost` once it was cancelled or claimed anew. An address is
 * looked at here because fan-out locks no reader's: one that was removed while a page was open is cancelled
 * by nobody else.
 */
export async function confirm(sql: Sql, lease: Lease): Promise<Confirmation> {
  const [row] = await sql.query<{ fault: MailFault | null }>(CONFIRM, [lease.id, lease.leaseNo]);
  if (row === undefined) return 'lost';
  return row.fault ?? 'current';
}
