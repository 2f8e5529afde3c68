import {
  EVENT_SCHEMAS,
  type EventPayload,
  type MailContent,
  type MailParts,
} from '@ghost/contract';
import { schema, type Transaction } from '@ghost/db';
import { type MailSender, sentBy } from '@ghost/operations';
import type { Queue } from '@ghost/queue';
import { and, eq, sql } from 'drizzle-orm';

import type { FanoutEvent, FanoutPage } from '../outbox/fanout-consumer.js';
import { isSuppressed } from './is-suppressed.js';
import { headersToOne, mailToNobody, mailToOne, utc } from './mail-to-one.js';

type AddressPayload = EventPayload<'address.added'>;

/** Why the mail is not sent after all; the code is in `fanout_skip`. */
type AddressSkip =
  | 'address_removed'
  | 'address_verified'
  | 'link_expired'
  | 'suppressed'
  /** Written before events named the address's row and the link's end. */
  | 'outdated_event';

export type AddressEvent = FanoutEvent & { type: 'address.added'; payload: AddressPayload };

export function isAddressEvent(event: FanoutEvent): event is AddressEvent {
  return event.type === 'address.added';
}

/**
 * One mail to the address that was added, with the link that verifies it. Its row is locked against
 * removal until the page ends, so that a removal finds the job and cancels it.
 */
export async function addressPage(
  tx: Transaction,
  queue: Queue,
  event: AddressEvent,
  sender: MailSender,
): Promise<FanoutPage> {
  const { account, address } = event.payload;
  const reason = await skipAddress(tx, event.payload);
  if (reason !== null) return mailToNobody(account.id, reason);
  const to = { accountId: account.id, name: account.login, address };
  return mailToOne(tx, queue, event, to, addressMail(event, sender));
}

async function skipAddress(tx: Transaction, payload: AddressPayload): Promise<AddressSkip | null> {
  if (!EVENT_SCHEMAS['address.added'].safeParse(payload).success) return 'outdated_event';
  const { account, address_id: addressId, expires_at: expiresAt } = payload;
  const { emailAddress } = schema;
  const [row] = await tx
    .select({
      verified: sql<boolean>`${emailAddress.verifiedAt} is not null`,
      expired: sql<boolean>`${expiresAt}::timestamptz <= now()`,
      suppressed: isSuppressed(sql`${emailAddress}.address`),
    })
    .from(emailAddress)
    .where(and(eq(emailAddress.id, addressId), eq(emailAddress.accountId, account.id)))
    .for('key share');
  if (row === undefined) return 'address_removed';
  if (row.verified) return 'address_verified';
  if (row.expired) return 'link_expired';
  return row.suppressed ? 'suppressed' : null;
}

/**
 * The mail with the link. Pure. It goes to somebody who may never have heard of Ghost, so it holds
 * nothing that a person typed but the login, whose letters are few; and it is no list's mail.
 */
export function addressMail(
  { payload, createdAt }: Pick<AddressEvent, 'payload' | 'createdAt'>,
  sender: MailSender,
): MailContent {
  const { account, verification_url: link, expires_at: expiresAt } = payload;
  const text: MailParts = [
    [
      `The account "${account.login}" at ${sender.publicUrl} wants its mail at this address.`,
      'If that is you, open this link and press the button there:',
      link,
      `It works until ${utc(expiresAt)}. If it is not you, you need do nothing.`,
    ].join('\n\n'),
    '\n',
  ];
  return {
    ...sentBy(sender, createdAt),
    subject: [`[${sender.name}] Is this address yours?`],
    text,
    headers: headersToOne('verification'),
  };
}
