import { type EmailMessage, joinMail } from '@ghost/contract';
import type { MailSender } from '@ghost/operations';
import { createTransport } from 'nodemailer';

import { type MailEvent, threadMail } from '../../apps/api/src/notifier/thread-mail.js';
import { mailOptions } from '../../apps/delivery/src/send/mail-options.js';

const JOB_ID = '019a0000-0000-7000-8000-000000000001';
/** A token as long as those of large ids. */
const TOKEN = 'x'.repeat(48);
export const SENDER: MailSender = {
  name: 'Ghost',
  address: 'noreply@ghost.example',
  publicUrl: 'https://ghost.example',
};

/** The mail of an event to one reader, as fan-out and claim make it. */
export function messageOf(
  event: MailEvent,
  to = { name: 'Reader', address: 'reader@people.example' },
): EmailMessage {
  return joinMail(threadMail(event, SENDER), { to, slots: { r: 'watching', u: TOKEN } }, JOB_ID);
}

/** The envelope and the bytes that delivery hands to the relay. */
export async function mimeOf(
  message: EmailMessage,
): Promise<{ to: readonly string[]; raw: Buffer }> {
  const transport = createTransport({ streamTransport: true, buffer: true, newline: 'windows' });
  const { envelope, message: raw } = await transport.sendMail(mailOptions(message, JOB_ID));
  return { to: envelope.to, raw: Buffer.isBuffer(raw) ? raw : Buffer.of() };
}
