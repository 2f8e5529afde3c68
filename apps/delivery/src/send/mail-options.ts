import type { EmailMessage } from '@ghost/contract';
import type { SendMailOptions } from 'nodemailer';

/** Of a byte, line ends left out. */
const BASE64_CHARS = 4 / 3;
/** Of a byte that quoted-printable does not show as it is (RFC 2045, 6.7). */
const ESCAPED_CHARS = 3;
// Quoted-printable shows the rest of ASCII.
const ESCAPED = /[^\t\n -<>-~]+/gu;
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
    text: withPlainLineEnds(message.text),
    ...(message.html === undefined ? {} : { html: withPlainLineEnds(message.html) }),
    date: new Date(message.date),
    messageId: message.messageId,
    ...(message.inReplyTo === undefined ? {} : { inReplyTo: message.inReplyTo }),
    ...(message.references === undefined ? {} : { references: message.references }),
    headers: Object.fromEntries(headers),
    ...(isShorterInBase64(message) ? { textEncoding: 'base64' } : {}),
    baseBoundary: jobId,
    xMailer: false,
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

/** A lone CR becomes a line's end on the way, when the signature (DKIM) is made already: the mail would be taken for a forgery. */
function withPlainLineEnds(text: string): string {
  return text.replaceAll(/\r\n?/gu, '\n');
}

/** nodemailer goes by the letters, and writes up to three times of what is much signs; providers hide what is over 102 KB. */
function isShorterInBase64({ text, html = '' }: EmailMessage): boolean {
  const both = text + html;
  const bytes = Buffer.byteLength(both);
  // Those beyond ASCII have two bytes or more.
  const shown = both.length - (both.match(ESCAPED)?.join('').length ?? 0);
  return shown + (bytes - shown) * ESCAPED_CHARS > bytes * BASE64_CHARS;
}
