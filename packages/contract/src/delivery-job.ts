import * as z from 'zod';

import { JOB_VERSION } from './job-kind.js';

/** Of 12 numbers and a MAC in base64url, with room to spare. */
const MAX_CHAIN_CHARACTERS = 400;

// What becomes a header must not be able to end it.
const headerText = z.string().regex(/^[^\r\n\0]*$/u, 'must not contain CR, LF or NUL');

export const mailAddress = z.strictObject({
  name: headerText,
  address: headerText.min(3).max(320),
});
export type MailAddress = z.infer<typeof mailAddress>;

const messageId = headerText.regex(/^<[^<>\s]+@[^<>\s]+>$/u, 'must be <left@right>');
const headerName = z.string().regex(/^[A-Za-z0-9-]+$/u, 'must be letters, digits and dashes');

/** A finished mail: one recipient, every part fixed, so that each attempt has the same bytes. */
export const emailMessage = z.looseObject({
  envelopeFrom: headerText.max(320),
  from: mailAddress,
  to: mailAddress,
  replyTo: mailAddress.optional(),
  subject: headerText,
  text: z.string(),
  html: z.string().optional(),
  date: z.iso.datetime({ offset: true }),
  messageId,
  inReplyTo: messageId.optional(),
  references: z.array(messageId).optional(),
  headers: z.record(headerName, headerText),
});
export type EmailMessage = z.infer<typeof emailMessage>;

export const emailJob = z.looseObject({
  version: z.literal(JOB_VERSION),
  kind: z.literal('email'),
  message: emailMessage,
});
export const webhookJob = z.looseObject({
  version: z.literal(JOB_VERSION),
  kind: z.literal('webhook'),
  hookId: z.number().int().positive(),
  event: headerText.min(1).max(100),
  /** The hooks that led to it, signed: passed on as it is (`x-ghost-chain`). */
  chain: headerText.min(1).max(MAX_CHAIN_CHARACTERS).optional(),
  body: z.string(),
});

/** A finished message to one destination; delivery renders nothing and looks up no domain data. */
export const deliveryJob = z.discriminatedUnion('kind', [emailJob, webhookJob]);
export type EmailJob = z.infer<typeof emailJob>;
export type WebhookJob = z.infer<typeof webhookJob>;
export type DeliveryJob = z.infer<typeof deliveryJob>;
