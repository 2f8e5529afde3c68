import {
  type EventPayload,
  MAIL_REASON_HEADER,
  type MailContent,
  type MailEventType,
  type MailParts,
} from '@ghost/contract';

import { headerSafe, personName } from './header-safe.js';
import type { ReaderReason } from './choose-reader.js';
import type { MailSender } from './mail-sender.js';

/** Subjects are cut before clients do it: the number at the end is what people search for. */
const LONGEST_TITLE = 200;

/** The reader's own parts; names of one letter, as they are stored once a reader. */
export interface ReaderSlots extends Record<string, string> {
  /** Why they get it: one word that filters and people both read (a sentence cost 34 bytes a reader). */
  r: ReaderReason;
  /** The unsubscribe token. */
  u: string;
}

export type MailEvent = {
  [T in MailEventType]: { type: T; payload: EventPayload<T>; createdAt: Date };
}[MailEventType];

/**
 * The mail of an event, with slots where readers differ. Pure: the same event gives the same parts.
 * Every mail of a thread refers to one stable root, so a reader who joins late sees one thread too.
 */
export function threadMail(event: MailEvent, sender: MailSender): MailContent {
  const { repository, thread, sender: actor } = event.payload;
  const domain = sender.address.slice(sender.address.lastIndexOf('@') + 1);
  const root = `<thread.${thread.id}@${domain}>`;
  const unsubscribe = `${sender.publicUrl}/api/unsubscribe/`;
  return {
    envelopeFrom: sender.address,
    from: { name: `${personName(actor)} (${sender.name})`, address: sender.address },
    subject: [subject(event)],
    text: [
      ...said(event),
      `\n\n-- \nRead it on Ghost: ${link(event)}\nWhy you get this: `,
      { slot: 'r' },
      `\nNo more mails of this thread: ${unsubscribe}`,
      { slot: 'u' },
      '\n',
    ],
    date: event.createdAt.toISOString(),
    messageIdDomain: domain,
    inReplyTo: root,
    references: [root],
    headers: [
      // RFC 2919; RFC 8058 needs both List-Unsubscribe fields; RFC 3834.
      [
        'List-ID',
        [`${headerSafe(repository.full_name, LONGEST_TITLE)} <${listId(repository, domain)}>`],
      ],
      ['List-Unsubscribe', [`<${unsubscribe}`, { slot: 'u' }, '>']],
      ['List-Unsubscribe-Post', ['List-Unsubscribe=One-Click']],
      ['Auto-Submitted', ['auto-generated']],
      ['Precedence', ['list']],
      [MAIL_REASON_HEADER, [{ slot: 'r' }]],
    ],
  };
}

function subject(event: MailEvent): string {
  const { repository, thread } = event.payload;
  const reply = event.type === 'thread.opened' ? '' : 'Re: ';
  const name = headerSafe(repository.full_name, LONGEST_TITLE);
  return `${reply}[${name}] ${headerSafe(thread.title, LONGEST_TITLE)} (#${thread.number})`;
}

/** What a person wrote, as they wrote it: Markdown reads well as plain text. */
function said(event: MailEvent): MailParts {
  switch (event.type) {
    case 'thread.opened':
      return [event.payload.thread.body];
    case 'comment.created':
      return [event.payload.comment.body];
    case 'thread.closed':
      return [`${personName(event.payload.sender)} closed this thread.`];
    case 'thread.reopened':
      return [`${personName(event.payload.sender)} reopened this thread.`];
  }
}

function link(event: MailEvent): string {
  return event.type === 'comment.created'
    ? event.payload.comment.html_url
    : event.payload.thread.html_url;
}

/** Labels of a List-ID are letters, digits and dashes. */
function listId(repository: { owner: string; name: string }, domain: string): string {
  const label = (text: string) => text.replaceAll(/[^A-Za-z0-9-]+/gu, '-');
  return `${label(repository.name)}.${label(repository.owner)}.${domain}`;
}
