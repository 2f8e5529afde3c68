import { type EmailMessage, joinMail, mailContent, mailOwn } from '@ghost/contract';
import type { ExplainedDelivery, ExplainedEvent, SkippedTarget } from '@ghost/operations';

import { checkReply } from '../catchers/mail-check.js';
import type { CaughtMail } from '../catchers/mail-catcher.js';
import type { CaughtWebhook } from '../catchers/inspect-webhook.js';
import type { Witness } from '../catchers/witness.js';
import type { Choices } from './choices.js';

/** What was posted, and who must hear of it: decided from who follows, not from what fan-out did. */
export interface Posted {
  /** For the table: "comment 3". */
  name: string;
  source: string;
  eventId: string;
  eventType: 'comment.created' | 'thread.opened';
  /** What the person wrote. */
  body: string;
  readers: readonly string[];
  hookIds: readonly number[];
  /** Who must be recorded as left out, as fan-out names its targets. */
  skippedAccounts: readonly string[];
  skippedHookIds: readonly number[];
  /** Hooks whose webhooks go somewhere else than to the witness. */
  unseenHookIds: readonly number[];
}

/** A job's finished content as the database holds it. */
export interface StoredContent {
  body: string | null;
  parts: unknown;
  own: unknown;
}

export interface ReportRow {
  event: string;
  source: string;
  target: string;
  status: string;
  attempts: string;
  verified: string;
  ok: boolean;
}

export interface Verdict {
  rows: ReportRow[];
  /** What is missing or wrong, a sentence each; empty when all is well. */
  faults: string[];
}

/** It went where nobody looks. */
const NOT_CAUGHT: Judgement = { problems: [], by: 'not caught' };

/** What the database says of an event, and what came. */
export interface Evidence {
  explained: ExplainedEvent;
  /** By the id of the job. */
  contents: ReadonlyMap<string, StoredContent>;
  choices: Choices;
  witness: Pick<Witness, 'mailsOf' | 'webhooksOf'>;
  /** Whether mails come to the witness at all. */
  catchesMails: boolean;
}

/** Compares what should have been sent for an event with what the database says and what came. */
export function verifyEvent(
  planned: Posted,
  { explained, contents, choices, witness, catchesMails }: Evidence,
): Verdict {
  const posted = withChoices(planned, explained, choices);
  const verdict: Verdict = { rows: [], faults: [] };
  const fault = (text: string) => verdict.faults.push(`${posted.name}: ${text}`);
  for (const consumer of explained.consumers) {
    if (consumer.state === 'done') continue;
    fault(`the ${consumer.consumer} is ${consumer.state} (${consumer.lastError ?? 'no error'})`);
  }
  compareTargets(posted, explained, fault);
  for (const delivery of explained.deliveries) {
    const content = contents.get(delivery.jobId);
    const judgement =
      delivery.status === 'delivered'
        ? verifyDelivery(posted, delivery, content, witness, catchesMails)
        : { problems: [notDelivered(delivery)], by: '' };
    for (const problem of judgement.problems) fault(`${delivery.target}: ${problem}`);
    verdict.rows.push(rowOf(posted, delivery, judgement));
  }
  for (const skip of explained.skips) {
    verdict.rows.push({
      event: posted.name,
      source: posted.source,
      target: skip.target,
      status: `skipped (${skip.reason})`,
      attempts: '',
      verified: '',
      ok: true,
    });
  }
  return verdict;
}

/** A reader whose recorded skip is their own choice, and true, is expected to be left out. */
function withChoices(posted: Posted, { skips }: ExplainedEvent, choices: Choices): Posted {
  const chose = new Set(
    skips
      .filter((skip) => skip.targetKind === 'account' && isChoice(choices, skip))
      .map((skip) => skip.target),
  );
  return {
    ...posted,
    readers: posted.readers.filter((login) => !chose.has(login)),
    skippedAccounts: [
      ...posted.skippedAccounts,
      ...posted.readers.filter((login) => chose.has(login)),
    ],
  };
}

function isChoice(choices: Choices, { target, reason }: SkippedTarget): boolean {
  return choices.get(target)?.some((chosen) => chosen === reason) ?? false;
}

function compareTargets(
  posted: Posted,
  explained: ExplainedEvent,
  fault: (text: string) => void,
): void {
  const of = (kind: 'email' | 'webhook') =>
    explained.deliveries.filter((delivery) => delivery.kind === kind);
  const skips = (kind: 'account' | 'hook') =>
    explained.skips.filter((skip) => skip.targetKind === kind);
  const compare = (what: string, expected: readonly unknown[], found: readonly unknown[]) => {
    for (const one of expected) if (!found.includes(one)) fault(`no ${what} for ${String(one)}`);
    for (const one of found)
      if (!expected.includes(one)) fault(`a ${what} too many, for ${String(one)}`);
    if (new Set(found).size < found.length) fault(`a ${what} more than once`);
  };
  compare(
    'mail',
    posted.readers,
    of('email').map((delivery) => delivery.login),
  );
  compare(
    'webhook',
    posted.hookIds,
    of('webhook').map((delivery) => delivery.hookId),
  );
  compare(
    'record of a person left out',
    posted.skippedAccounts,
    skips('account').map((one) => one.target),
  );
  compare(
    'record of a hook left out',
    posted.skippedHookIds,
    skips('hook').map((one) => one.targetId),
  );
}

interface Judgement {
  problems: readonly string[];
  /** What it was verified by, where there is no problem. */
  by: string;
}

function verifyDelivery(
  posted: Posted,
  delivery: ExplainedDelivery,
  content: StoredContent | undefined,
  witness: Pick<Witness, 'mailsOf' | 'webhooksOf'>,
  catchesMails: boolean,
): Judgement {
  const { hookId, jobId, kind } = delivery;
  if (!content) return { problems: ['its content is gone'], by: '' };
  if (kind === 'webhook') {
    if (hookId !== null && posted.unseenHookIds.includes(hookId)) return NOT_CAUGHT;
    const came = witness.webhooksOf(jobId);
    return {
      problems: verifyWebhooks(posted, delivery, content, came),
      by: came.some(({ secretAt }) => secretAt === null)
        ? 'text (unknown secret)'
        : 'both signatures',
    };
  }
  if (!catchesMails) return NOT_CAUGHT;
  return {
    problems: verifyMails(posted, delivery, content, witness.mailsOf(jobId)),
    by: 'headers and text',
  };
}

function verifyWebhooks(
  posted: Posted,
  delivery: ExplainedDelivery,
  content: StoredContent,
  came: readonly CaughtWebhook[],
): string[] {
  const problems = came.flatMap((webhook) => webhook.problems);
  const accepted = came.filter((webhook) => webhook.answered === 200);
  if (accepted.length === 0) problems.push('the receiver accepted none');
  if (came.length < delivery.tries) {
    problems.push(`${delivery.tries} tries are recorded, ${came.length} came`);
  }
  for (const webhook of came) {
    if (webhook.body !== content.body) problems.push('its body is not the stored one');
    if (webhook.event !== posted.eventType) problems.push(`its event is ${webhook.event}`);
    if (Number(webhook.hookId) !== delivery.hookId) problems.push('its hook id is another');
    if (writtenIn(posted, webhook.body) !== posted.body) {
      problems.push('the text in it is not what was posted');
    }
  }
  return [...new Set(problems)];
}

function writtenIn(posted: Posted, body: string): unknown {
  const payload = JSON.parse(body) as Record<string, { body?: unknown } | undefined>;
  return payload[posted.eventType === 'comment.created' ? 'comment' : 'thread']?.body;
}

function verifyMails(
  posted: Posted,
  delivery: ExplainedDelivery,
  content: StoredContent,
  came: readonly CaughtMail[],
): string[] {
  const problems = came.flatMap((mail) => mail.problems);
  const [first] = came;
  if (!first) return ['no mail came'];
  const message = joinMail(
    mailContent.parse(content.parts),
    mailOwn.parse(content.own),
    delivery.jobId,
  );
  for (const mail of came) {
    if (!mail.raw.equals(first.raw)) problems.push('its bytes differ from an earlier try');
    if (posted.eventType === 'comment.created') problems.push(...checkReply(mail));
    problems.push(...compareMail(mail, message));
    if (!holds(plain(mail.text), plain(posted.body))) {
      problems.push('the text in it is not what was posted');
    }
  }
  return [...new Set(problems)];
}

function compareMail(mail: CaughtMail, message: EmailMessage): string[] {
  const problems: string[] = [];
  if (mail.messageId !== message.messageId) problems.push('its Message-ID is not the stored one');
  if (mail.subject !== message.subject) problems.push('its subject is not the stored one');
  if (mail.envelopeTo !== message.to.address) problems.push('it went to another address');
  if (plain(mail.text) !== plain(message.text)) problems.push('its text is not the stored one');
  return problems;
}

/** What a mail says where a text was cut. */
const CUT_MARK = '[Read on: there is more of it on Ghost.]';
const CUT_ABOVE_BYTES = 24 * 1024;

/** Mail has its own line ends, and blanks at the very end of a text may go. */
function plain(text: string): string {
  return text.replaceAll(/\r\n?/gu, '\n').trim();
}

function notDelivered(delivery: ExplainedDelivery): string {
  const why = delivery.heldReason ?? delivery.lastError ?? 'no error yet';
  const state =
    delivery.waiting === null ? delivery.status : `${delivery.status}, ${delivery.waiting}`;
  return `not delivered: ${state} after ${delivery.tries} tries (${why})`;
}

function rowOf(
  posted: Posted,
  delivery: ExplainedDelivery,
  { problems, by }: Judgement,
): ReportRow {
  const ok = problems.length === 0;
  return {
    event: posted.name,
    source: posted.source,
    target: delivery.target,
    status: delivery.status,
    attempts: String(delivery.tries),
    verified: ok ? by : 'NO',
    ok,
  };
}

/** Long texts are cut in mails, and the mail says so: of those it holds the beginning. */
function holds(text: string, posted: string): boolean {
  if (text.includes(posted)) return true;
  const cut = text.indexOf(CUT_MARK);
  return (
    Buffer.byteLength(posted) > CUT_ABOVE_BYTES &&
    cut > 0 &&
    posted.startsWith(text.slice(0, cut).trimEnd())
  );
}
