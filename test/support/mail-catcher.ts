import { once } from 'node:events';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { waitUntil } from './wait-until.js';

const LOOPBACK = '127.0.0.1';
const CLOSE_WITHIN_MS = 200;

export interface CaughtMail {
  readonly envelope: { readonly from: string; readonly to: readonly string[] };
  /** The whole message as it came, dots unstuffed. */
  readonly raw: Buffer;
  readonly at: Date;
}

/** A refusal, such as `{ code: 550, text: '5.1.1 No such user' }`; undefined accepts. */
export interface SmtpReply {
  readonly code: number;
  readonly text: string;
}

type Answer = SmtpReply | undefined | Promise<SmtpReply | undefined>;

export interface MailCatcherOptions {
  /** At the greeting: `{ code: 554, … }` turns the client away. */
  readonly onConnect?: () => Answer;
  readonly onMailFrom?: (from: string) => Answer;
  readonly onRcptTo?: (to: string) => Answer;
  /** After the final dot; a refused mail is not recorded. */
  readonly onData?: (mail: CaughtMail) => Answer;
  /** Whether mails are kept; a load of them would fill the memory. They are by default. */
  readonly keep?: boolean;
  /** Asks for a log-in and takes only this one. Without TLS too. */
  readonly auth?: { readonly user: string; readonly pass: string };
  /** Offers STARTTLS with this certificate. */
  readonly tls?: { readonly key: string | Buffer; readonly cert: string | Buffer };
}

export interface MailCatcher {
  /** `smtp://127.0.0.1:<port>` */
  readonly url: string;
  readonly port: number;
  mails(): readonly CaughtMail[];
  /** Waits until so many came in all, and returns them all. */
  waitForMails(count: number, timeoutMs?: number): Promise<readonly CaughtMail[]>;
  stop(): Promise<void>;
}

/** Starts an SMTP server on a free loopback port that keeps every mail. It accepts all by default. */
export async function startMailCatcher(options: MailCatcherOptions = {}): Promise<MailCatcher> {
  const caught: CaughtMail[] = [];
  const server = new SMTPServer(serverOptions(options, caught));
  // A client that is killed in the middle of a mail is no fault of ours.
  server.on('error', () => undefined);
  const listener = server.listen(0, LOOPBACK);
  await once(listener, 'listening');
  const address = listener.address();
  if (address === null || typeof address === 'string') throw new Error('No port.');
  return {
    url: `smtp://${LOOPBACK}:${address.port}`,
    port: address.port,
    mails: () => caught,
    waitForMails: async (count, timeoutMs) => {
      await waitUntil(() => caught.length >= count, {
        what: () => `${count} mails (${caught.length} came)`,
        ...(timeoutMs === undefined ? {} : { timeoutMs }),
      });
      return caught;
    },
    stop: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

function serverOptions(options: MailCatcherOptions, caught: CaughtMail[]): SMTPServerOptions {
  const { auth, tls } = options;
  const disabled = [
    ...(auth === undefined ? ['AUTH'] : []),
    ...(tls === undefined ? ['STARTTLS'] : []),
  ];
  return {
    logger: false,
    disableReverseLookup: true,
    closeTimeout: CLOSE_WITHIN_MS,
    disabledCommands: disabled,
    authOptional: auth === undefined,
    allowInsecureAuth: true,
    ...(tls === undefined ? {} : tls),
    onAuth: (given, _session, done) => {
      const fits = given.username === auth?.user && given.password === auth?.pass;
      if (fits) done(null, { user: given.username ?? '' });
      else done(refusal({ code: 535, text: '5.7.8 Wrong user or password' }));
    },
    onConnect: (_session, done) => answer(options.onConnect?.(), done),
    onMailFrom: (from, _session, done) => answer(options.onMailFrom?.(from.address), done),
    onRcptTo: (to, _session, done) => answer(options.onRcptTo?.(to.address), done),
    onData: (stream, session, done) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope;
        const mail: CaughtMail = {
          envelope: {
            from: mailFrom === false ? '' : (mailFrom?.address ?? ''),
            to: rcptTo.map((recipient) => recipient.address),
          },
          raw: Buffer.concat(chunks),
          at: new Date(),
        };
        answer(options.onData?.(mail), (error) => {
          if (!error && options.keep !== false) caught.push(mail);
          done(error);
        });
      });
    },
  };
}

function answer(reply: Answer, done: (error?: Error | null) => void): void {
  Promise.resolve(reply).then(
    (given) => done(given === undefined ? null : refusal(given)),
    (error: unknown) => done(error instanceof Error ? error : new Error(String(error))),
  );
}

/** The form in which smtp-server takes a reply of ours. */
function refusal({ code, text }: SmtpReply): Error {
  return Object.assign(new Error(text), { responseCode: code });
}
