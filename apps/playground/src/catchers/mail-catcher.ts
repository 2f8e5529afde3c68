import { once } from 'node:events';
import { readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';

import { simpleParser } from 'mailparser';
import { SMTPServer, type SMTPServerDataStream, type SMTPServerSession } from 'smtp-server';

import { LOOPBACK } from '../embedded/ports.js';
import { checkMail, type ParsedFacts, readFacts } from './mail-check.js';

/** The newest mails that are kept as files. */
const MAX_FILES = 500;
const CLOSE_WITHIN_MS = 200;
const MAX_MAIL_BYTES = 10 * 1024 * 1024;
const FILE_SAFE = /[^A-Za-z0-9@._-]/gu;

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
  /** Where mails are written as `*.eml`; it must exist. */
  folder: string;
  onMail: (mail: CaughtMail) => void;
}

/**
 * An SMTP server that takes every mail, checks its headers and writes it to a file; it passes
 * nothing on. A mail is acknowledged once it is written.
 */
export async function startMailCatcher(options: MailCatcherOptions): Promise<MailCatcher> {
  const files = await numberedFiles(options.folder);
  const server = new SMTPServer({
    logger: false,
    disableReverseLookup: true,
    closeTimeout: CLOSE_WITHIN_MS,
    disabledCommands: ['AUTH', 'STARTTLS'],
    authOptional: true,
    size: MAX_MAIL_BYTES,
    onData(stream, session, done) {
      take(stream, session, files, options).then(
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
  files: NumberedFiles,
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
  const file = await files.add(`${envelopeTo.replaceAll(FILE_SAFE, '_').slice(0, 100)}.eml`, raw);
  options.onMail({ ...facts, envelopeFrom, envelopeTo, raw, problems, file, at: new Date() });
}

interface NumberedFiles {
  /** Writes the next file and removes the oldest when there are too many. Returns its path. */
  add(name: string, content: Buffer): Promise<string>;
}

/** Goes on counting where an earlier run stopped. */
async function numberedFiles(folder: string): Promise<NumberedFiles> {
  const numberOf = (name: string) => Number(/^(\d+)-.*\.eml$/u.exec(name)?.[1] ?? 0);
  const kept = (await readdir(folder))
    .filter((name) => numberOf(name) > 0)
    .toSorted((a, b) => numberOf(a) - numberOf(b));
  let last = numberOf(kept.at(-1) ?? '');
  return {
    async add(name, content) {
      last += 1;
      const file = `${String(last).padStart(5, '0')}-${name}`;
      kept.push(file);
      await writeFile(path.join(folder, file), content, { mode: 0o600 });
      while (kept.length > MAX_FILES) {
        await rm(path.join(folder, kept.shift() ?? ''), { force: true });
      }
      return path.join(folder, file);
    },
  };
}
