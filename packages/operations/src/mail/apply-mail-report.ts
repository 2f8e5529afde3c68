import {
  ADDRESS_UNSENDABLE,
  NO_SUCH_ADDRESS,
  SENDER_REFUSED,
  speaksOfReputation,
  type Suppression,
  TOO_LARGE,
} from '@ghost/contract';
import type { Sql } from '@ghost/queue';

import type { MailReport, NoReport } from './read-mail-report.js';
import { createSuppressions } from './suppressions.js';

/** What became of a report. */
export type ReportEffect =
  | { effect: 'suppressed'; jobId: string; suppression: Suppression; reason: string }
  /** It counts against nobody's address: what was refused is what we are. */
  | { effect: 'noted'; jobId: string; reason: string }
  | { effect: 'ignored'; reason: NoReport | 'unknown_mail' };

/** Keeps the address of the mail that a report is about from further mail, as far as the report says so. */
export async function applyMailReport(sql: Sql, report: MailReport): Promise<ReportEffect> {
  if (report.kind === 'none') return { effect: 'ignored', reason: report.reason };
  const { jobId } = report;
  const [job] = await sql.query<{ address: string }>(
    `SELECT own #>> '{to,address}' AS address FROM delivery_job WHERE id = $1 AND kind = 'email'`,
    [jobId],
  );
  if (job === undefined) return { effect: 'ignored', reason: 'unknown_mail' };
  const { suppression, reason } =
    report.kind === 'complaint'
      ? ({ suppression: 'hard', reason: 'complaint' } as const)
      : judgeBounce(report.status, report.diagnostic ?? '');
  if (suppression === null) return { effect: 'noted', jobId, reason };
  await createSuppressions(sql).note(job.address, suppression, reason);
  return { effect: 'suppressed', jobId, suppression, reason };
}

/** As replies at RCPT are judged (`classify-smtp-reply`); a relay that gave up after days says 4.4.7, and may have had trouble of its own. */
function judgeBounce(
  status: string,
  diagnostic: string,
): { suppression: Suppression | null; reason: string } {
  const detail = status.slice(2);
  if (TOO_LARGE.includes(detail)) return { suppression: null, reason: 'message_too_large' };
  if (ADDRESS_UNSENDABLE.includes(detail)) return { suppression: null, reason: 'address_invalid' };
  if (SENDER_REFUSED.includes(detail)) return { suppression: null, reason: 'sender_refused' };
  if (detail.startsWith('7.') || speaksOfReputation(diagnostic)) {
    return { suppression: null, reason: 'policy_refused' };
  }
  if (status.startsWith('5.') && NO_SUCH_ADDRESS.includes(detail)) {
    return { suppression: 'hard', reason: 'address_unknown' };
  }
  if (detail === '2.2') return { suppression: 'soft', reason: 'mailbox_full' };
  if (detail === '1.2') return { suppression: 'strike', reason: 'domain_unknown' };
  return { suppression: 'strike', reason: status.startsWith('4.') ? 'expired' : 'refused' };
}
