import type { EventPayload, MailContent } from '@ghost/contract';
import { schema, type Transaction } from '@ghost/db';
import { type MailSender, sentBy } from '@ghost/operations';
import type { Queue } from '@ghost/queue';
import { and, eq, sql } from 'drizzle-orm';

import { escapeHtml } from '../mail-links/link-page.js';
import { type FanoutEvent, type FanoutPage, NOTHING_TO_SEND } from '../outbox/fanout-consumer.js';
import { repositoryUrl } from '../repositories/repository-urls.js';
import { headerSafe, personName } from './header-safe.js';
import { isSuppressed } from './is-suppressed.js';
import { headersToOne, mailToNobody, mailToOne, utc } from './mail-to-one.js';

/** Subjects are cut before clients do it. */
const LONGEST_NAME = 100;
const LONGEST_ORIGIN = 100;
const LONGEST_SENTENCE = 500;

export type HookMailEvent = {
  [T in 'hook.failing' | 'hook.disabled']: {
    type: T;
    payload: EventPayload<T>;
    createdAt: Date;
  };
}['hook.failing' | 'hook.disabled'];

/** Why the owner gets no mail; the code is in `fanout_skip`. */
type OwnerSkip = 'hook_deleted' | 'unverified' | 'suppressed';

export function isHookMailEvent(event: FanoutEvent): event is FanoutEvent & HookMailEvent {
  return event.type === 'hook.failing' || event.type === 'hook.disabled';
}

/** One mail about a hook that fails, to the owner of its repository. */
export async function hookPage(
  tx: Transaction,
  queue: Queue,
  event: FanoutEvent & HookMailEvent,
  sender: MailSender,
): Promise<FanoutPage> {
  const owner = await findOwner(tx, event);
  if (owner === undefined) return NOTHING_TO_SEND;
  const choice = chooseOwner(owner);
  if ('skip' in choice) return mailToNobody(owner.id, choice.skip);
  const to = { accountId: owner.id, name: personName(owner), address: choice.address };
  return mailToOne(tx, queue, event, to, hookMail(event, sender));
}

/** The mail. Pure. Of the hook's URL it holds what the event does: where it leads, and no path. */
export function hookMail(event: HookMailEvent, sender: MailSender): MailContent {
  const { subject, paragraphs, link } = said(event, sender);
  const html = paragraphs.map((text) => `<p>${escapeHtml(text)}</p>`);
  const href = escapeHtml(link);
  return {
    ...sentBy(sender, event.createdAt),
    subject: [subject],
    text: [[...paragraphs, `${ATTEMPTS} ${link}`].join('\n\n'), '\n'],
    html: [[...html, `<p>${ATTEMPTS} <a href="${href}">${href}</a></p>`].join('\n'), '\n'],
    headers: headersToOne('owner'),
  };
}

const ATTEMPTS = 'The hook, with each attempt and its answer in its deliveries:';

function said(
  { type, payload }: HookMailEvent,
  sender: MailSender,
): { subject: string; paragraphs: string[]; link: string } {
  const { repository, hook } = payload;
  const name = headerSafe(repository.full_name, LONGEST_NAME);
  const to = headerSafe(hook.url, LONGEST_ORIGIN);
  const link = `${repositoryUrl(sender.publicUrl, `${encodeURIComponent(repository.owner)}/${encodeURIComponent(repository.name)}`)}/hooks/${hook.id}`;
  const since = utc(payload.failing_since);
  const fault = `The newest attempt: ${headerSafe(payload.message ?? 'It failed.', LONGEST_SENTENCE)} (${headerSafe(payload.reason, LONGEST_NAME)})`;
  switch (type) {
    case 'hook.failing':
      return {
        subject: `[${name}] The webhook to ${to} is failing`,
        paragraphs: [
          `Nothing could be delivered to webhook ${hook.id} of ${name}, which leads to ${to}, since ${since}.`,
          fault,
          `If that goes on it is disabled, at ${utc(payload.disables_at)} at the earliest. What is sent to it is then kept for 7 days, until somebody resumes it.`,
          'Mend the endpoint, or give the webhook another URL: the next delivery that arrives ends the matter. If nobody needs it any more, delete it.',
        ],
        link,
      };
    case 'hook.disabled':
      return {
        subject: `[${name}] The webhook to ${to} was disabled`,
        paragraphs: [
          `Webhook ${hook.id} of ${name}, which leads to ${to}, was disabled at ${utc(payload.disabled_at)}${payload.held === 'disabled' ? `: nothing could be delivered to it since ${since}` : ''}.`,
          fault,
          'What is sent to it from now on is kept, as is what waited already: each delivery for 7 days at most, and a bounded number of them. It says in the webhook how many there are.',
          'Mend the endpoint, or give the webhook another URL, then resume it (DELETE on the address below with /pause): what was kept is sent, or discarded if you ask for that with ?held=discard.',
        ],
        link,
      };
  }
}

interface Owner {
  id: number;
  login: string;
  name: string;
  /** Null: none is primary. */
  email: string | null;
  verified: boolean;
  suppressed: boolean;
  /** The hook is there still. */
  hook: boolean;
}

/** Undefined when the repository is gone. */
async function findOwner(
  tx: Transaction,
  { repositoryId, payload }: FanoutEvent & HookMailEvent,
): Promise<Owner | undefined> {
  if (repositoryId === null) return undefined;
  const { repository, account, emailAddress: address, hook } = schema;
  const [owner] = await tx
    .select({
      id: account.id,
      login: account.login,
      name: account.name,
      email: address.address,
      verified: sql<boolean>`${address.verifiedAt} is not null`,
      suppressed: isSuppressed(sql`${address}.address`),
      hook: sql<boolean>`exists (
        select from ${hook} h where h.repository_id = ${repository}.id and h.id = ${payload.hook.id})`,
    })
    .from(repository)
    .innerJoin(account, eq(account.id, repository.ownerId))
    .leftJoin(address, and(eq(address.accountId, account.id), eq(address.isPrimary, true)))
    .where(eq(repository.id, repositoryId));
  return owner;
}

function chooseOwner(owner: Owner): { address: string } | { skip: OwnerSkip } {
  if (!owner.hook) return { skip: 'hook_deleted' };
  if (owner.email === null || !owner.verified) return { skip: 'unverified' };
  return owner.suppressed ? { skip: 'suppressed' } : { address: owner.email };
}
