import { MAIL_REASON_HEADER, type MailContent } from '@ghost/contract';
import type { Transaction } from '@ghost/db';
import { mailLane, type Queue, sqlOf } from '@ghost/queue';
import { uuidv7 } from 'uuidv7';

import type { FanoutEvent, FanoutPage } from '../outbox/fanout-consumer.js';

/** An account, and how a mail's `To` names it. */
export interface Addressee {
  accountId: number;
  name: string;
  address: string;
}

/** The one page of an event that makes one mail. */
export async function mailToOne(
  tx: Transaction,
  queue: Queue,
  event: FanoutEvent,
  { accountId, ...to }: Addressee,
  parts: MailContent,
): Promise<FanoutPage> {
  const content = { kind: 'email', eventId: event.id, parts } as const;
  const contentId = await queue.storeContent(sqlOf(tx), content);
  return {
    jobs: [
      {
        id: uuidv7(),
        idempotencyKey: `email:${event.id}:${accountId}`,
        eventId: event.id,
        contentId,
        kind: 'email',
        lane: mailLane(to.address, false),
        repositoryId: event.repositoryId,
        accountId,
        own: { to, slots: {} },
      },
    ],
    skips: [],
    cursor: null,
  };
}

/** The one page of such an event where the account gets none. @param reason - for `fanout_skip` */
export function mailToNobody(accountId: number, reason: string): FanoutPage {
  return {
    jobs: [],
    skips: [{ targetKind: 'account', targetId: accountId, reason }],
    cursor: null,
  };
}

/** Headers of such a mail. @param reason - why they get it, in a word */
export function headersToOne(reason: string): MailContent['headers'] {
  return [
    // RFC 3834, 5, and what Exchange heeds: no vacation note answers it.
    ['Auto-Submitted', ['auto-generated']],
    ['X-Auto-Response-Suppress', ['All']],
    [MAIL_REASON_HEADER, [reason]],
  ];
}

/** `2026-01-31 12:00 UTC` */
export function utc(time: string): string {
  return `${new Date(time).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}
