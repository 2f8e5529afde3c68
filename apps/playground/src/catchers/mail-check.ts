import { MAIL_REASON_HEADER } from '@ghost/contract';
import type { AddressObject, ParsedMail } from 'mailparser';

// RFC 5322, 2.1.1: a line has at most 998 characters.
const MAX_LINE_BYTES = 998;
const MESSAGE_ID = /^<([^<>@\s]+)@[^<>@\s]+>$/u;

/** What a mail says of itself, decoded. */
export interface ParsedFacts {
  messageId: string;
  /** The left side of the Message-ID, which is the job's id. */
  jobId: string;
  subject: string;
  /** Addresses of the To header. */
  to: string[];
  from: string[];
  text: string;
  hasHtml: boolean;
  inReplyTo: string;
  references: string[];
  /** Values of the raw headers by lower-case name, unfolded; a repeated one is joined by a line break. */
  header: (name: string) => string;
}

export function readFacts(mail: ParsedMail): ParsedFacts {
  const messageId = mail.messageId ?? '';
  return {
    messageId,
    jobId: MESSAGE_ID.exec(messageId)?.[1] ?? '',
    subject: mail.subject ?? '',
    to: addresses(mail.to),
    from: addresses(mail.from),
    text: mail.text ?? '',
    hasHtml: typeof mail.html === 'string',
    inReplyTo: mail.inReplyTo ?? '',
    references: [mail.references ?? []].flat(),
    header: (name) =>
      mail.headerLines
        .filter((line) => line.key === name)
        .map((line) => line.line.replace(/^[^:]*:\s*/u, '').replaceAll(/\r?\n(?=[ \t])/gu, ''))
        .join('\n'),
  };
}

/** What is wrong with the headers that a mail of its kind carries; empty when nothing is. */
export function checkMail(facts: ParsedFacts, raw: Buffer, envelopeTo: string): string[] {
  const problems: string[] = [];
  const demand = (fits: boolean, problem: string) => {
    if (!fits) problems.push(problem);
  };
  demand(facts.jobId !== '', 'Message-ID is missing or malformed');
  demand(facts.from.length === 1, `From has ${facts.from.length} addresses`);
  demand(
    facts.to.length === 1 && facts.to[0] === envelopeTo,
    'To is not the recipient of the envelope',
  );
  demand(!Number.isNaN(Date.parse(facts.header('date'))), 'Date is missing or malformed');
  demand(facts.subject !== '', 'Subject is missing');
  problems.push(...checkUnsubscribe(facts));
  demand(
    facts.header('auto-submitted') === 'auto-generated',
    'Auto-Submitted is not auto-generated',
  );
  demand(facts.text !== '', 'it has no text');
  demand(longestLine(raw) <= MAX_LINE_BYTES, `a line is longer than ${MAX_LINE_BYTES} bytes`);
  return problems;
}

/** A verification mail is no list's: there is nothing to unsubscribe from. */
function checkUnsubscribe({ header }: ParsedFacts): string[] {
  const link = header('list-unsubscribe');
  const post = header('list-unsubscribe-post');
  if (header(MAIL_REASON_HEADER.toLowerCase()) === 'verification') {
    return link + post === '' ? [] : ['a verification mail has List-Unsubscribe'];
  }
  const problems: string[] = [];
  if (!/^<https?:\/\/[^>\s]+>/u.test(link)) problems.push('List-Unsubscribe has no link');
  if (post !== 'List-Unsubscribe=One-Click') {
    problems.push('List-Unsubscribe-Post is not one-click');
  }
  return problems;
}

/** What is wrong with a reply's place in its thread. */
export function checkReply(facts: ParsedFacts): string[] {
  const problems: string[] = [];
  if (!MESSAGE_ID.test(facts.inReplyTo)) problems.push('In-Reply-To is missing');
  if (!facts.references.some((id) => MESSAGE_ID.test(id))) problems.push('References is missing');
  return problems;
}

function addresses(field: AddressObject | AddressObject[] | undefined): string[] {
  return [field ?? []]
    .flat()
    .flatMap((one) => one.value)
    .map((one) => one.address ?? '');
}

function longestLine(raw: Buffer): number {
  let longest = 0;
  let start = 0;
  while (start < raw.length) {
    const found = raw.indexOf('\r\n', start);
    const end = found < 0 ? raw.length : found;
    longest = Math.max(longest, end - start);
    start = end + 2;
  }
  return longest;
}
