import { MAX_ADDRESSES, recordAccessChange } from '@ghost/operations';
import type { Sql } from '@ghost/queue';

import { ApiError } from '../../http/api-error.js';
import type { Account } from '../current-account.js';

/** Verification mails that an account can cause in any hour: one for each address that it may have. */
const MAILS_AN_HOUR = MAX_ADDRESSES;
const WINDOW_SECONDS = 3600;

/**
 * Counts verification mails against the account that causes them, so that nobody sends strangers many:
 * each is a line of the audit, which adding and removing the same address again cannot undo. The caller
 * holds the account's lock, so requests at once are counted one after the other.
 * @throws ApiError 429 with `retry-after`: when as many of the hour's mails are past it as are asked for
 */
export async function spendVerificationMails(
  sql: Sql,
  account: Account,
  addresses: readonly string[],
): Promise<void> {
  const rows = await sql.query<{ seconds_left: number }>(
    `SELECT ceil(extract(epoch FROM at + $3 * interval '1 second' - now()))::integer AS seconds_left
     FROM audit_entry
     WHERE subject_id = $1 AND action = 'address.verification_sent' AND at > now() - $3 * interval '1 second'
     ORDER BY at DESC LIMIT $2`,
    [account.id, MAILS_AN_HOUR, WINDOW_SECONDS],
  );
  const over = rows.length + addresses.length - MAILS_AN_HOUR;
  if (over > 0) {
    // Of the oldest, as many as are over; at most MAX_ADDRESSES are asked for, so there are so many.
    const seconds = Math.max(rows.at(-over)?.seconds_left ?? WINDOW_SECONDS, 1);
    throw new ApiError({
      status: 429,
      code: 'too_many_mails',
      message: `At most ${MAILS_AN_HOUR} verification mails an hour are sent for an account. Try again in ${seconds} s.`,
      headers: { 'retry-after': String(seconds) },
    });
  }
  for (const address of addresses) {
    await recordAccessChange(sql, {
      action: 'address.verification_sent',
      actor: account,
      subject: account,
      detail: { address },
    });
  }
}
