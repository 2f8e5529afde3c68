import { once } from 'node:events';

import { simpleParser } from 'mailparser';
import { SMTPServer, type SMTPServerDataStream, type SMTPServerSession } from 'smtp-server';

import { LOOPBACK } from '../embedded/ports.js';
import { checkMail, type ParsedFacts, readFacts } from './mail-check.js';
import type { MailShelf } from './mail-shelf.js';

const CLOSE_WITHIN_MS = 200;
const MAX_MAIL_BYTES = 10 * 1024 * 1024;

export interface CaughtMail extends ParsedFacts {
  envelopeFrom: string;
  envelopeTo: string;
  /** The whole message. */
  raw: Buffer;
  /** Everything that is not as it should be; empty when all is well. */
  problems: string[];
  file: string;
  at: Date;
}

export interface MailCatcher {
  readonly url: string;
  readonly port: number;
  stop(): Promise<void>;
}

export interface MailCatcherOptions {
  /** Where mails are kept. */
  shelf: MailShelf;
  onMail: (mail: CaughtMail) => void;
}

/**
 * An SMTP server that takes every mail, checks its headers and keeps it; it passes
 * nothing on. A mail is acknowledged once it is kept.
 */
export async function startMailCatcher(options: MailCatcherOptions): Promise<MailCatcher> {
  const server = new SMTPServer({
    logger: false,
    disableReverseLookup: true,
    closeTimeout: CLOSE_WITHIN_MS,
    disabledCommands: ['AUTH', 'STARTTLS'],
    authOptional: true,
    size: MAX_MAIL_BYTES,
    onData(stream, session, done) {
      take(stream, session, options).then(
        () => done(null),
        (error: unknown) => done(error instanceof Error ? error : new Error(String(error))),
      );
    },
  });
  // A client that breaks off in the middle of a mail is its own affair: it tries again.
  server.on('error', () => undefined);
  const listener = server.listen(0, LOOPBACK);
  await once(listener, 'listening');
  const address = listener.address();
  if (address === null || typeof address === 'string') {
    throw new Error('The mail catcher has no port.');
  }
  return {
    url: `smtp://${LOOPBACK}:${address.port}`,
    port: address.port,
    stop: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

async function take(
  stream: SMTPServerDataStream,
  session: SMTPServerSession,
  options: MailCatcherOptions,
): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream as AsyncIterable<Buffer>) chunks.push(chunk);
  const raw = Buffer.concat(chunks);
  const { mailFrom, rcptTo } = session.envelope;
  const envelopeTo = rcptTo.map((one) => one.address).join(', ');
  const envelopeFrom = mailFrom === false ? '' : mailFrom.address;
  const facts = readFacts(await simpleParser(raw, { skipTextToHtml: true, skipImageLinks: true }));
  const problems = checkMail(facts, raw, envelopeTo);
  if (rcptTo.length !== 1) problems.push(`its envelope has ${rcptTo.length} recipients`);
  const at = new Date();
  const file = await options.shelf.add({ to: envelopeTo, subject: facts.subject, raw, at });
  options.onMail({ ...facts, envelopeFrom, envelopeTo, raw, problems, file, at });
}
