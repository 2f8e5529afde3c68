import type { EmailMessage } from '@ghost/contract';
import type { SendMailOptions } from 'nodemailer';

// Header names that nodemailer makes from fields of their own.
const OWN_FIELDS = new Set(['from', 'to', 'cc', 'bcc', 'subject', 'date', 'message-id']);

/**
 * The mail as nodemailer takes it. Everything that could differ between two attempts is fixed: date
 * and Message-ID come with the job, the MIME boundary is made of its id. Addresses are objects:
 * nodemailer reads strings as lists, and `"u@e, evil@x"` would mail both.
 */
export function mailOptions(message: EmailMessage, jobId: string): SendMailOptions {
  const headers = Object.entries(message.headers).filter(
    ([name]) => !OWN_FIELDS.has(name.toLowerCase()),
  );
  return {
    envelope: {
      from: message.envelopeFrom === '' ? false : { name: '', address: message.envelopeFrom },
      to: [{ name: '', address: message.to.address }],
    },
    from: message.from,
    to: [message.to],
    ...(message.replyTo ? { replyTo: [message.replyTo] } : {}),
    subject: message.subject,
    text: message.text,
    ...(message.html === undefined ? {} : { html: message.html }),
    date: new Date(message.date),
    messageId: message.messageId,
    ...(message.inReplyTo === undefined ? {} : { inReplyTo: message.inReplyTo }),
    ...(message.references === undefined ? {} : { references: message.references }),
    headers: Object.fromEntries(headers),
    baseBoundary: jobId,
    xMailer: false,
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}
