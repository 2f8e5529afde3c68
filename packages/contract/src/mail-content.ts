import * as z from 'zod';

import { type EmailMessage, emailMessage, mailAddress } from './delivery-job.js';

/**
 * A mail is stored once an event as arrays of parts: a string is the event's, a slot is the
 * reader's. Slots are objects, so no text that a person writes can pose as one.
 */
const slot = z.strictObject({ slot: z.string().min(1) });
const parts = z.array(z.union([z.string(), slot]));
export type MailParts = z.infer<typeof parts>;

export const mailContent = z.looseObject({
  envelopeFrom: z.string(),
  from: mailAddress,
  replyTo: mailAddress.optional(),
  subject: parts,
  text: parts,
  html: parts.optional(),
  date: z.iso.datetime({ offset: true }),
  /** Right side of every Message-ID; the left side is the job's id, so it is stable and unique. */
  messageIdDomain: z.string().min(1),
  inReplyTo: z.string().optional(),
  references: z.array(z.string()).optional(),
  headers: z.array(z.tuple([z.string(), parts])),
});
export type MailContent = z.infer<typeof mailContent>;

/** The reader's own parts of a mail. */
export const mailOwn = z.looseObject({
  to: mailAddress,
  slots: z.record(z.string(), z.string()),
});
export type MailOwn = z.infer<typeof mailOwn>;

function fill(list: MailParts, slots: Record<string, string>): string {
  let text = '';
  for (const part of list) {
    if (typeof part === 'string') {
      text += part;
      continue;
    }
    const value = slots[part.slot];
    if (value === undefined)
      throw new Error(`Mail content names a slot "${part.slot}" that the job lacks`);
    text += value;
  }
  return text;
}

/**
 * Joins an event's content with a reader's own parts into the finished mail.
 * Pure: the same job id and parts give the same message, attempt after attempt.
 * @throws when a slot has no value or the result is no valid message (both are our fault, not the reader's)
 */
export function joinMail(content: MailContent, own: MailOwn, jobId: string): EmailMessage {
  const optional = {
    ...(content.replyTo === undefined ? {} : { replyTo: content.replyTo }),
    ...(content.html === undefined ? {} : { html: fill(content.html, own.slots) }),
    ...(content.inReplyTo === undefined ? {} : { inReplyTo: content.inReplyTo }),
    ...(content.references === undefined ? {} : { references: content.references }),
  };
  return emailMessage.parse({
    envelopeFrom: content.envelopeFrom,
    from: content.from,
    to: own.to,
    subject: fill(content.subject, own.slots),
    text: fill(content.text, own.slots),
    date: content.date,
    messageId: `<${jobId}@${content.messageIdDomain}>`,
    headers: Object.fromEntries(
      content.headers.map(([name, value]) => [name, fill(value, own.slots)]),
    ),
    ...optional,
  });
}
