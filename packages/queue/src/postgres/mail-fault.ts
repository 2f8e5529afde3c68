import type { MailFault, Sql } from '../queue.js';

/**
 * {@link MailFault} of a job `j`, with {@link MAIL_FAULT_TABLES}; null where it may be sent. Mail goes to a
 * verified address of its account. What asks for the verification goes to the row that it was written for,
 * while its link is of use: an address that was removed and added again is another row. Of a repository that was deleted
 * it is cancelled in steps, and none goes out meanwhile.
 */
export const MAIL_FAULT = `CASE
    WHEN EXISTS (SELECT FROM delivery_cancellation c WHERE c.repository_id = j.repository_id) THEN 'repository_deleted'
    WHEN j.account_id IS NULL THEN NULL
    WHEN a.id IS NULL THEN 'address_removed'
    WHEN v.id IS NULL THEN CASE WHEN a.verified_at IS NULL THEN 'address_removed' END
    WHEN a.verified_at IS NOT NULL THEN 'address_verified'
    WHEN (v.payload ->> 'expires_at')::timestamptz <= now() THEN 'link_expired'
  END`;

/** By keys alone: an event, and an address of an account. */
export const MAIL_FAULT_TABLES = `delivery_job j
  LEFT JOIN outbox_event v ON v.id = j.event_id AND v.type = 'address.added'
  LEFT JOIN email_address a ON a.account_id = j.account_id AND lower(a.address) = lower(j.own #>> '{to,address}')
    AND (v.id IS NULL OR v.payload ->> 'address_id' = a.id::text)`;

/** Why a mail may not be sent to its address, whatever became of the job; null where it may, or for no mail. */
export async function mailFault(sql: Sql, jobId: string): Promise<MailFault | null> {
  const [row] = await sql.query<{ fault: MailFault | null }>(
    `SELECT ${MAIL_FAULT} AS fault FROM ${MAIL_FAULT_TABLES} WHERE j.id = $1`,
    [jobId],
  );
  return row?.fault ?? null;
}
