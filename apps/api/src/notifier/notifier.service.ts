import { setImmediate as nextTurn } from 'node:timers/promises';
import { isMailEventType } from '@ghost/contract';
import type { Transaction } from '@ghost/db';
import { mailSender } from '@ghost/operations';
import { mailLane, type NewJob, type Queue, sqlOf } from '@ghost/queue';
import type { Settings } from '@ghost/settings';
import { Inject, Injectable } from '@nestjs/common';
import { uuidv7 } from 'uuidv7';

import { QUEUE, SETTINGS } from '../database/tokens.js';
import {
  type FanoutConsumer,
  type FanoutEvent,
  type FanoutPage,
  NOTHING_TO_SEND,
  type SkippedTarget,
} from '../outbox/fanout-consumer.js';
import { isCommentGone } from '../outbox/is-comment-gone.js';
import { UnsubscribeTokens } from '../unsubscribe/unsubscribe-tokens.js';
import { addressPage, isAddressEvent } from './address-mail.js';
import { type Audience, audiencePage, type Candidate, countAudience } from './audience.js';
import {
  chooseReader,
  type ReaderContext,
  type ReaderReason,
  type ReaderSkip,
} from './choose-reader.js';
import { personName } from './header-safe.js';
import { hookPage, isHookMailEvent } from './hook-mail.js';
import { readCursor, writeCursor } from './notifier-cursor.js';
import { takeMentionMails } from './mention-quota.js';
import { type MailEvent, type ReaderSlots, threadMail } from './thread-mail.js';

/** Accounts a page: constant memory, and a transaction of some 60 ms. */
const PAGE_SIZE = 1000;
/** Events with more readers go to the bulk lanes, so that other mail to the domain passes them. */
const BULK_ABOVE_READERS = 1000;
/** Mails made before requests get a turn: 1 ms of work. */
const MAILS_A_TURN = 100;

interface Reader {
  candidate: Candidate;
  reason: ReaderReason;
  address: string;
  onlyMentioned: boolean;
}

interface Sorted {
  readers: Reader[];
  skips: SkippedTarget[];
}

/**
 * Turns events of a thread into one mail for each person who follows it and may read it now, an address
 * that was added into the mail that verifies it, and a hook that fails into one for its owner.
 */
@Injectable()
export class NotifierService implements FanoutConsumer {
  constructor(
    @Inject(QUEUE) private readonly queue: Queue,
    @Inject(SETTINGS)
    private readonly settings: Pick<Settings, 'mailFrom' | 'publicUrl' | 'mentionMailsPerHour'>,
    @Inject(UnsubscribeTokens) private readonly tokens: UnsubscribeTokens,
  ) {}

  async page(tx: Transaction, event: FanoutEvent, cursor: string | null): Promise<FanoutPage> {
    if (isAddressEvent(event)) {
      return addressPage(tx, this.queue, event, mailSender(this.settings));
    }
    if (isHookMailEvent(event)) return hookPage(tx, this.queue, event, mailSender(this.settings));
    if (!isMailEventType(event.type) || event.repositoryId === null) return NOTHING_TO_SEND;
    const mail = event as MailEvent & FanoutEvent;
    const audience = { repositoryId: event.repositoryId, threadId: mail.payload.thread.id };
    return this.threadPage(tx, mail, audience, cursor);
  }

  private async threadPage(
    tx: Transaction,
    mail: MailEvent & FanoutEvent,
    audience: Audience,
    cursor: string | null,
  ): Promise<FanoutPage> {
    const { sender } = mail.payload;
    const from = cursor === null ? null : readCursor(cursor);
    const candidates = await audiencePage(tx, audience, from?.after ?? 0, PAGE_SIZE);
    const sorted = sort(candidates, {
      actorId: sender.id,
      mentioned: mentionedIn(mail),
      commentGone: candidates.length > 0 && (await isCommentGone(tx, mail)),
    });
    const { readers, skips } = await this.withinQuota(tx, sender.id, sorted);
    const last = candidates.length < PAGE_SIZE;
    const bulk =
      from?.bulk ??
      (!last && (await countAudience(tx, audience, BULK_ABOVE_READERS + 1)) > BULK_ABOVE_READERS);
    const content =
      from?.content ?? (readers.length === 0 ? null : await this.storeContent(tx, mail));
    const jobs = content === null ? [] : await this.makeJobs(mail, readers, content, bulk);
    const after = candidates.at(-1)?.accountId;
    const next = last || after === undefined ? null : writeCursor({ after, bulk, content });
    return { jobs, skips, cursor: next };
  }

  /** Of those who are only mentioned as many as the author may still bring a mail, the longest-known first. */
  private async withinQuota(tx: Transaction, authorId: number, sorted: Sorted): Promise<Sorted> {
    const { mentionMailsPerHour: most } = this.settings;
    const mentioned = sorted.readers.filter(({ onlyMentioned }) => onlyMentioned);
    const allowed = await takeMentionMails(tx, authorId, mentioned.length, most);
    const over = new Set(mentioned.slice(allowed));
    if (over.size === 0) return sorted;
    const skips = [...over].map(({ candidate }) => skipped(candidate, 'mention_limit'));
    return {
      readers: sorted.readers.filter((reader) => !over.has(reader)),
      skips: [...sorted.skips, ...skips],
    };
  }

  private storeContent(tx: Transaction, event: MailEvent & FanoutEvent): Promise<string> {
    const parts = threadMail(event, mailSender(this.settings));
    return this.queue.storeContent(sqlOf(tx), { kind: 'email', eventId: event.id, parts });
  }

  private async makeJobs(
    event: MailEvent & FanoutEvent,
    readers: readonly Reader[],
    contentId: string,
    bulk: boolean,
  ): Promise<NewJob[]> {
    const jobs: NewJob[] = [];
    for (const { candidate, reason, address } of readers) {
      const { accountId } = candidate;
      const token = this.tokens.sign({ threadId: event.payload.thread.id, accountId });
      jobs.push({
        id: uuidv7(),
        idempotencyKey: `email:${event.id}:${accountId}`,
        eventId: event.id,
        contentId,
        kind: 'email',
        lane: mailLane(address, bulk),
        repositoryId: event.repositoryId,
        accountId,
        own: {
          to: { name: personName(candidate), address },
          slots: { r: reason, u: token } satisfies ReaderSlots,
        },
      });
      if (jobs.length % MAILS_A_TURN === 0) await nextTurn();
    }
    return jobs;
  }
}

function sort(candidates: readonly Candidate[], context: ReaderContext): Sorted {
  const readers: Reader[] = [];
  const skips: SkippedTarget[] = [];
  for (const candidate of candidates) {
    const choice = chooseReader(candidate, context);
    if ('skip' in choice) {
      skips.push(skipped(candidate, choice.skip));
      continue;
    }
    const { mail: reason, address, onlyMentioned } = choice;
    readers.push({ candidate, reason, address, onlyMentioned });
  }
  return { readers, skips };
}

function skipped({ accountId }: Candidate, reason: ReaderSkip): SkippedTarget {
  return { targetKind: 'account', targetId: accountId, reason };
}

/** Whom the text of this very event mentions: what the thread said earlier is no news. */
function mentionedIn(event: MailEvent): ReadonlySet<number> {
  switch (event.type) {
    case 'thread.opened':
      return idsOf(event.payload.thread.mentions);
    case 'comment.created':
      return idsOf(event.payload.comment.mentions);
    case 'thread.closed':
    case 'thread.reopened':
      return idsOf([]);
  }
}

function idsOf(people: readonly { id: number }[] = []): ReadonlySet<number> {
  return new Set(people.map(({ id }) => id));
}
