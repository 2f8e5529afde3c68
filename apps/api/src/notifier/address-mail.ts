import {
  EVENT_SCHEMAS,
  type EventPayload,
  MAIL_REASON_HEADER,
  type MailContent,
  type MailParts,
} from '@ghost/contract';
import type { MailSender } from '@ghost/operations';
import { schema, type Transaction } from '@ghost/db';
import { mailLane, type Queue, sqlOf } from '@ghost/queue';
import { and, eq, sql } from 'drizzle-orm';
import { uuidv7 } from 'uuidv7';

import type { FanoutEvent, FanoutPage } from '../outbox/fanout-consumer.js';

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
  if (reason !== null) {
    return {
      jobs: [],
      skips: [{ targetKind: 'account', targetId: account.id, reason }],
      cursor: null,
    };
  }
  const contentId = await queue.storeContent(sqlOf(tx), {
    kind: 'email',
    eventId: event.id,
    parts: addressMail(event, sender),
  });
  return {
    jobs: [
      {
        id: uuidv7(),
        idempotencyKey: `email:${event.id}:${account.id}`,
        eventId: event.id,
        contentId,
        kind: 'email',
        lane: mailLane(address, false),
        repositoryId: null,
        accountId: account.id,
        own: { to: { name: account.login, address }, slots: {} },
      },
    ],
    skips: [],
    cursor: null,
  };
}

async function skipAddress(tx: Transaction, payload: AddressPayload): Promise<AddressSkip | null> {
  if (!EVENT_SCHEMAS['address.added'].safeParse(payload).success) return 'outdated_event';
  const { account, address_id: addressId, expires_at: expiresAt } = payload;
  const { emailAddress, mailSuppression } = schema;
  const [row] = await tx
    .select({
      verified: sql<boolean>`${emailAddress.verifiedAt} is not null`,
      expired: sql<boolean>`${expiresAt}::timestamptz <= now()`,
      suppressed: sql<boolean>`exists (
        select from ${mailSuppression} m where m.address = lower(${emailAddress}.address)
          and m.since <= now() and (m.until is null or m.until > now()))`,
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
    envelopeFrom: sender.address,
    from: { name: sender.name, address: sender.address },
    subject: [`[${sender.name}] Is this address yours?`],
    text,
    date: createdAt.toISOString(),
    messageIdDomain: sender.address.slice(sender.address.lastIndexOf('@') + 1),
    headers: [
      // RFC 3834, 5: no vacation note answers it.
      ['Auto-Submitted', ['auto-generated']],
      [MAIL_REASON_HEADER, ['verification']],
    ],
  };
}

/** `2026-01-31 12:00 UTC` */
function utc(time: string): string {
  return `${new Date(time).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}
