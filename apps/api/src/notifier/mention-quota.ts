import { schema, type Transaction } from '@ghost/db';
import { sql } from 'drizzle-orm';

/**
 * Takes so many mails by mention out of what an author may cause in an hour of the clock. It locks the author's count
 * until the page commits, so pages of one author wait for each other, and a page that is broken off takes nothing.
 * @param most - an hour; 0: no bound
 * @returns how many may be sent
 */
export async function takeMentionMails(
  tx: Transaction,
  authorId: number,
  wanted: number,
  most: number,
): Promise<number> {
  if (wanted === 0 || most === 0) return wanted;
  const { mentionMails } = schema;
  // Made first: what is not there cannot be locked. An author who is gone causes no mails, and has no count.
  const { rows } = await tx.execute<{ mails: number }>(sql`
    insert into ${mentionMails} as m (account_id, hour, mails)
    select a.id, date_trunc('hour', now()), 0 from ${schema.account} a where a.id = ${authorId}
    on conflict (account_id) do update
    set hour = excluded.hour, mails = case when m.hour = excluded.hour then m.mails else 0 end
    returning mails`);
  const allowed = Math.min(wanted, Math.max(0, most - (rows[0]?.mails ?? 0)));
  if (allowed === 0) return 0;
  await tx.execute(sql`
    update ${mentionMails} set mails = mails + ${allowed} where account_id = ${authorId}`);
  return allowed;
}
