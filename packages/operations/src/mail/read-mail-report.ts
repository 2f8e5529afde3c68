import { jobOfBounceAddress, type KeyRing } from '@ghost/vault';

import type { ParsedMail } from 'mailparser';

import { type Fields, fieldGroups } from './report-fields.js';

/** Return paths of ours, wherever they stand in a header. */
const RETURN_PATH = /b-[a-z2-7]{52}@[^\s<>"',;()]+/giu;
/** As many as are looked at: each costs a MAC for each key of the ring. */
const MOST_RETURN_PATHS = 20;
/** Of a report's own headers those that say for whom it came. */
const RECIPIENT_HEADERS = ['to', 'delivered-to', 'x-original-to', 'envelope-to', 'x-envelope-to'];
const MOST_DIAGNOSTIC_CHARS = 500;
/** RFC 3463: nothing more is known than that it failed for good. */
const UNDEFINED_STATUS = '5.0.0';
/** A report and its parts are read up to here, and our mails have less than 100 KB: anybody may send to a return path, and 1 MiB took 1.6 s. */
const MOST_BYTES = 256 * 1024;
/** Of the report, or of a part of it: the parser reads one at once, and 1 MiB of addresses stopped the process for 1.6 s. */
const MOST_HEAD_BYTES = 64 * 1024;
/** Praise, and what speaks of our own SPF, DKIM or DMARC (RFC 6591). */
const NO_COMPLAINTS: ReadonlySet<string> = new Set(['not-spam', 'auth-failure']);

/** What a raw message says of one of our mails. */
export type MailReport =
  | { kind: 'bounce'; jobId: string; status: string; diagnostic: string | null }
  | { kind: 'complaint'; jobId: string; feedbackType: string }
  | { kind: 'none'; reason: NoReport };

/** Why a message counts for nothing. */
export type NoReport =
  /** No parser reads it. */
  | 'unreadable'
  /** It holds neither a delivery status nor a feedback report. */
  | 'no_report'
  /** No return path in it was made by this installation. */
  | 'no_valid_return_path'
  /** It tells of a delay or of a success. */
  | 'no_failure'
  /** A feedback report that is no complaint of a reader (`not-spam`, `auth-failure`). */
  | 'no_complaint';

/** @param options.recipient - whom the message came for, where whoever hands it over knows */
export async function readMailReport(
  raw: Buffer,
  ring: KeyRing,
  { recipient }: { recipient?: string | undefined } = {},
): Promise<MailReport> {
  const mail = await parse(raw);
  if (mail === null) return none('unreadable');
  const partsOf = (...types: string[]) =>
    mail.attachments.filter(({ contentType }) => types.includes(typeOf(contentType)));
  const [status] = partsOf('message/delivery-status', 'message/global-delivery-status');
  const [feedback] = partsOf('message/feedback-report');
  const part = feedback ?? status;
  if (part === undefined) return none('no_report');
  const original = partsOf(
    'message/rfc822',
    'text/rfc822-headers',
    'message/global',
    'message/rfc822-headers',
  );
  const jobId = jobNamedIn(ring, [
    recipient ?? '',
    ...mail.headerLines
      .filter(({ key }) => RECIPIENT_HEADERS.includes(key))
      .map(({ line }) => line),
    ...[part, ...original].map(({ content }) => headOf(content)),
  ]);
  if (jobId === null) return none('no_valid_return_path');
  const groups = fieldGroups(part.content.toString('utf8'));
  return feedback === undefined ? bounceOf(jobId, groups) : complaintOf(jobId, groups);
}

/** Null: it is no mail, or one that is made to be much work. */
async function parse(raw: Buffer): Promise<ParsedMail | null> {
  // Loaded with the first message: it is a large library, and most processes never get one.
  const { simpleParser } = await import('mailparser');
  try {
    return await simpleParser(raw.subarray(0, MOST_BYTES), {
      ...{ skipHtmlToText: true, skipTextToHtml: true, skipImageLinks: true, skipTextLinks: true },
      // Each part as it came: the parser would take an original apart that is shown with the report ("inline").
      ...{ keepDeliveryStatus: true, ignoreEmbedded: true, checksumAlgo: false },
      maxHeadSize: MOST_HEAD_BYTES,
    });
  } catch {
    return null;
  }
}

/** RFC 3464: a group of fields for the message, then one for each recipient. Comments may stand behind a value. */
function bounceOf(jobId: string, groups: readonly Fields[]): MailReport {
  const failed = groups.find((fields) => /^failed\b/iu.test(fields.get('action') ?? ''));
  if (failed === undefined) return none('no_failure');
  const diagnostic = failed.get('diagnostic-code')?.slice(0, MOST_DIAGNOSTIC_CHARS) ?? null;
  return { kind: 'bounce', jobId, status: statusOf(failed.get('status'), diagnostic), diagnostic };
}

/** Exim's is 5.0.0, whatever it was told: then what it was told says more. */
function statusOf(field = '', diagnostic: string | null): string {
  const status = /\b[245]\.\d{1,3}\.\d{1,3}\b/u.exec(field)?.[0] ?? UNDEFINED_STATUS;
  if (!status.endsWith('.0.0')) return status;
  return /\b([45])\d\d[ -](\1\.\d{1,3}\.\d{1,3})(?![.\d])/u.exec(diagnostic ?? '')?.[2] ?? status;
}

/** RFC 5965. Where no type is given it is abuse: that is what these reports are for. */
function complaintOf(jobId: string, groups: readonly Fields[]): MailReport {
  const feedbackType = groups[0]?.get('feedback-type')?.toLowerCase() ?? 'abuse';
  if (NO_COMPLAINTS.has(feedbackType)) return none('no_complaint');
  return { kind: 'complaint', jobId, feedbackType };
}

function jobNamedIn(ring: KeyRing, texts: readonly string[]): string | null {
  const addresses = texts.flatMap((text) => text.match(RETURN_PATH) ?? []);
  for (const address of new Set(addresses.slice(0, MOST_RETURN_PATHS))) {
    const jobId = jobOfBounceAddress(ring, address);
    if (jobId !== null) return jobId;
  }
  return null;
}

/** The parser gives `false` for a type that is empty, whatever its own types say. */
function typeOf(contentType: unknown): string {
  return typeof contentType === 'string' ? contentType.toLowerCase() : '';
}

/** What a reader wrote in the original is no header. */
function headOf(content: Buffer): string {
  const text = content.toString('utf8');
  const end = /\r?\n\r?\n/u.exec(text.trimStart());
  return end === null ? text : text.trimStart().slice(0, end.index);
}

function none(reason: NoReport): MailReport {
  return { kind: 'none', reason };
}
