import {
  type EventPayload,
  MAIL_REASON_HEADER,
  type MailContent,
  type MailEventType,
} from '@ghost/contract';
import { type MailSender, sentBy } from '@ghost/operations';

import { headerSafe, personName } from './header-safe.js';
import type { ReaderReason } from './choose-reader.js';
import { cutText } from './mail-html/cut-text.js';
import { html } from './mail-html/html.js';
import { link, mailPage, paragraph } from './mail-html/mail-page.js';
import { renderMarkdown } from './mail-html/render-markdown.js';

/** Subjects are cut before clients do it: the number at the end is what people search for. */
const LONGEST_TITLE = 200;
/** Of what was written: with the HTML beside it a mail stays below the 102 KB at which large providers hide the rest. */
const MOST_TEXT_BYTES = 24 * 1024;
const MORE = 'Read on: there is more of it on Ghost.';

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
  const sent = sentBy(sender, event.createdAt);
  const domain = sent.messageIdDomain;
  const root = `<thread.${thread.id}@${domain}>`;
  const unsubscribe = `${sender.publicUrl}/api/unsubscribe/`;
  return {
    ...sent,
    from: { name: `${personName(actor)} (${sender.name})`, address: sender.address },
    subject: [subject(event)],
    ...bodies(event, unsubscribe),
    inReplyTo: root,
    references: [root],
    headers: [
      // RFC 2919, RFC 2369; RFC 8058 needs both List-Unsubscribe fields; RFC 3834, and what Exchange heeds.
      ['List-ID', [listId(repository, domain)]],
      ['List-Archive', [`<${thread.html_url}>`]],
      ['List-Unsubscribe', [`<${unsubscribe}`, { slot: 'u' }, '>']],
      ['List-Unsubscribe-Post', ['List-Unsubscribe=One-Click']],
      ['Auto-Submitted', ['auto-generated']],
      ['X-Auto-Response-Suppress', ['All']],
      ['Precedence', ['list']],
      [MAIL_REASON_HEADER, [{ slot: 'r' }]],
    ],
  };
}

/** The same as text and as HTML. What a person wrote is the text as they wrote it: Markdown reads well as it is. */
function bodies(event: MailEvent, unsubscribe: string): Pick<MailContent, 'text' | 'html'> {
  const written = writtenIn(event);
  const page = pageOf(event);
  const told = tell(event);
  const plain = written === null ? null : cutText(written, MOST_TEXT_BYTES);
  const rich = written === null ? null : renderMarkdown(written, page);
  const more = (cut: boolean) => (cut ? html`<p>${link(page, MORE)}</p>` : []);
  return {
    text: [
      plain?.text ?? told,
      plain?.cut ? `\n\n[${MORE}]` : '',
      `\n\n-- \nRead it on Ghost: ${page}\nWhy you get this: `,
      { slot: 'r' },
      `\nNo more mails of this thread: ${unsubscribe}`,
      { slot: 'u' },
      '\n',
    ],
    html: mailPage({
      title: subject(event),
      said: rich === null ? paragraph(told) : html`${[rich.html]}${more(rich.cut)}`,
      foot: html`${link(page, 'Read it on Ghost')}. Why you get this: ${{ slot: 'r' }}.
<a href="${unsubscribe}${{ slot: 'u' }}">No more mails of this thread</a>.`,
    }),
  };
}

function subject(event: MailEvent): string {
  const { repository, thread } = event.payload;
  const reply = event.type === 'thread.opened' ? '' : 'Re: ';
  const name = headerSafe(repository.full_name, LONGEST_TITLE);
  const title = headerSafe(thread.title, LONGEST_TITLE);
  // Of a title that shows nothing nothing is left: where a line is folded, one of two spaces is lost.
  const words = [`${reply}[${name}]`, title, `(#${thread.number})`];
  return words.filter((word) => word !== '').join(' ');
}

/** What a person wrote, in Markdown; null where they wrote nothing. */
function writtenIn(event: MailEvent): string | null {
  switch (event.type) {
    case 'thread.opened':
      return someText(event.payload.thread.body);
    case 'comment.created':
      return someText(event.payload.comment.body);
    case 'thread.closed':
    case 'thread.reopened':
      return null;
  }
}

function someText(text: string): string | null {
  return text.trim() === '' ? null : text;
}

/** What happened, in a sentence. */
function tell({ type, payload: { sender } }: MailEvent): string {
  const name = personName(sender);
  switch (type) {
    case 'thread.opened':
      return `${name} opened this thread.`;
    case 'comment.created':
      return `${name} commented.`;
    case 'thread.closed':
      return `${name} closed this thread.`;
    case 'thread.reopened':
      return `${name} reopened this thread.`;
  }
}

/** The page that shows it: what it links to is relative to that. */
function pageOf(event: MailEvent): string {
  return event.type === 'comment.created'
    ? event.payload.comment.html_url
    : event.payload.thread.html_url;
}

/** RFC 2919: a phrase, which is left as it is only if it is plain, and labels of letters, digits and dashes. */
function listId(repository: MailEvent['payload']['repository'], domain: string): string {
  const phrase = repository.full_name.replaceAll(/[^A-Za-z0-9._/-]+/gu, '-');
  const label = (text: string) => text.replaceAll(/[^A-Za-z0-9-]+/gu, '-');
  const labels = [repository.name, repository.owner].map(label).join('.');
  return `${phrase.slice(0, LONGEST_TITLE)} <${labels.slice(-LONGEST_TITLE)}.${domain}>`;
}
