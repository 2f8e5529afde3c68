import type { Readable } from 'node:stream';

import type { EmailMessage } from '@ghost/contract';
import type { Confirmation, MailFault } from '@ghost/queue';
import type { SendMailOptions, Transporter } from 'nodemailer';

import type { SmtpFault, SmtpStage } from '../rules/classify-smtp-reply.js';
import { isTlsFault } from '../rules/network-fault.js';
import { beforeMailFrom } from './before-mail-from.js';
import { mailOptions } from './mail-options.js';

/** RFC 5321 §4.5.3.2.6: the relay may take so long after the final dot. */
const AFTER_THE_DOT_MS = 10 * 60_000;
/** Everything up to the final dot. */
const TO_THE_DOT_MS = 60_000;

export interface SmtpTimes {
  toTheDotMs: number;
  afterTheDotMs: number;
}
export const SMTP_TIMES: SmtpTimes = { toTheDotMs: TO_THE_DOT_MS, afterTheDotMs: AFTER_THE_DOT_MS };

export type SmtpResult =
  | { kind: 'accepted'; response: string }
  | {
      kind: 'fault';
      fault: SmtpFault;
      /** nodemailer's code, such as ESOCKET; `deadline` when our own timer ended it. */
      code: string;
      /** A connection that had been idle was lost before a byte of the mail went out: the same mail may go again at once. */
      untouched: boolean;
    }
  /** Broken off by us before the final dot, or no longer current: the relay has no mail. */
  | { kind: 'stopped'; reason: string }
  /** The reason to send it is gone: the relay has no mail. */
  | { kind: 'cancelled'; reason: MailFault | typeof ADDRESS_SUPPRESSED };

/** Whether a mail may go, and why not. */
export type MailConfirmation = Confirmation | typeof ADDRESS_SUPPRESSED;
export const ADDRESS_SUPPRESSED = 'address_suppressed';

/** How far a mail came; nodemailer tells of a lost connection, not of when. */
interface Progress {
  confirm: () => Promise<MailConfirmation>;
  /** Made once the connection can be used. */
  stream?: Readable;
  /** The question right before MAIL FROM, or its answer: `unknown` when there is none. */
  current?: 'asked' | MailConfirmation | 'unknown';
  /** Why it could not. */
  fault?: unknown;
  /** The connection carried another mail before. */
  reused?: boolean;
}

/** By the signal of a mail: the one object of ours that nodemailer hands on as it is. */
const TRACKED = new WeakMap<object, Progress>();

/** Lets a transport note how far each mail came. Once a transport. */
export function trackProgress(transport: Transporter): void {
  transport.use('stream', (mail, done) => {
    const { message } = mail;
    const progress = TRACKED.get(mail.data.signal ?? {});
    if (progress && message) {
      const create = message.createReadStream.bind(message);
      message.createReadStream = (options) => {
        const stream = create(options);
        progress.stream = stream;
        beforeMailFrom(stream, ({ reused }) => {
          progress.reused = reused;
          return askIfCurrent(progress);
        });
        return stream;
      };
    }
    done();
  });
}

async function askIfCurrent(progress: Progress): Promise<boolean> {
  progress.current = 'asked';
  try {
    progress.current = await progress.confirm();
    return progress.current === 'current';
  } catch (error) {
    progress.current = 'unknown';
    progress.fault = error;
    throw error;
  }
}

export interface SmtpSession {
  transport: Transporter;
  /** Asked right before MAIL FROM, each time: whether the mail may still go. */
  confirm: () => Promise<MailConfirmation>;
  times?: SmtpTimes;
}

/**
 * Hands one mail to the relay and tells what came of it, within our own deadline in every stage.
 * @throws what `confirm` throws, and faults of ours
 */
export async function sendOverSmtp(
  message: EmailMessage,
  jobId: string,
  { transport, confirm, times = SMTP_TIMES }: SmtpSession,
  stop: AbortSignal,
): Promise<SmtpResult> {
  const progress: Progress = { confirm };
  const cut = new AbortController();
  const deadline = startDeadline(progress, cut, times);
  const onStop = () => cut.abort('stop');
  stop.addEventListener('abort', onStop, { once: true });
  if (stop.aborted) onStop();
  try {
    TRACKED.set(cut.signal, progress);
    const options: SendMailOptions = { ...mailOptions(message, jobId), signal: cut.signal };
    const sent: { response?: string | undefined } = await transport.sendMail(options);
    return { kind: 'accepted', response: sent.response ?? '' };
  } catch (error) {
    const unsent = whyUnsent(progress);
    if (unsent) return unsent;
    if (cut.signal.aborted) return whenCut(cut.signal, progress, stop);
    const fault = readFault(error, progress);
    if (!fault) throw error;
    return fault;
  } finally {
    deadline.clear();
    stop.removeEventListener('abort', onStop);
  }
}

/** What the question right before MAIL FROM came to, where it kept the mail back. */
function whyUnsent({ current, fault }: Progress): SmtpResult | undefined {
  switch (current) {
    case 'unknown':
      throw fault;
    case 'lost':
      return { kind: 'stopped', reason: 'no_longer_current' };
    case 'address_removed':
    case 'address_verified':
    case 'link_expired':
    case 'repository_deleted':
    case ADDRESS_SUPPRESSED:
      return { kind: 'cancelled', reason: current };
    case undefined:
    case 'asked':
    case 'current':
      return undefined;
  }
}

function startDeadline(
  progress: Progress,
  cut: AbortController,
  times: SmtpTimes,
): { clear: () => void } {
  let timer = setTimeout(onTime, times.toTheDotMs);
  let afterTheDot = false;
  function onTime(): void {
    // The last byte may be out for a while already: the ten minutes are counted from now at most.
    if (!afterTheDot && progress.stream?.readableEnded) {
      afterTheDot = true;
      timer = setTimeout(onTime, times.afterTheDotMs);
      return;
    }
    cut.abort('deadline');
  }
  return { clear: () => clearTimeout(timer) };
}

function whenCut(cut: AbortSignal, progress: Progress, stop: AbortSignal): SmtpResult {
  const stage = stageOf(progress, undefined, undefined);
  // It was we who kept the relay waiting.
  if (cut.reason === 'deadline' && progress.current === 'asked') {
    return { kind: 'stopped', reason: 'not_confirmed' };
  }
  if (cut.reason === 'stop' && stage !== 'message') {
    return { kind: 'stopped', reason: String(stop.reason) };
  }
  return { kind: 'fault', fault: { stage }, code: String(cut.reason), untouched: false };
}

// The connection ended, rather than the relay having refused something.
const LOST = new Set(['ECONNECTION', 'ESOCKET', 'ETIMEDOUT']);
// The relay's, or of the way there; any other code is a fault of ours.
const RELAY_CODES = new Set([
  ...LOST,
  'EDNS',
  'ETLS',
  'EREQUIRETLS',
  'EPROTOCOL',
  'EAUTH',
  'ENOAUTH',
  'EENVELOPE',
  'EMESSAGE',
  'EPROXY',
]);
// nodemailer compares with the SIZE that the relay announced, as the relay would do itself.
const TOO_LARGE = { code: 552, text: '552 5.3.4 Larger than the relay takes' };

function readFault(error: unknown, progress: Progress): SmtpResult | undefined {
  const { code: given, originalCode, command, responseCode, response } = fieldsOf(error);
  // For nodemailer a certificate that does not verify is any other fault of the socket.
  const code = isTlsFault(originalCode) ? 'ETLS' : given;
  if (!RELAY_CODES.has(code) || command === 'API') return undefined;
  if (code === 'EMESSAGE' && command === 'MAIL FROM') {
    return { kind: 'fault', fault: { stage: 'mail_from', ...TOO_LARGE }, code, untouched: false };
  }
  const stage = stageOf(progress, command, code);
  const fault: SmtpFault = {
    stage,
    ...(responseCode === undefined ? {} : { code: responseCode }),
    ...(response === undefined ? {} : { text: response }),
  };
  const lost = responseCode === undefined && LOST.has(code);
  return {
    kind: 'fault',
    fault,
    code,
    untouched: lost && progress.reused === true && stage === 'envelope',
  };
}

function stageOf(
  progress: Progress,
  command: string | undefined,
  code: string | undefined,
): SmtpStage {
  const { stream, current } = progress;
  if (!stream || current !== 'current') return 'setup';
  if (command === 'MAIL FROM') return 'mail_from';
  if (command === 'RCPT TO') return 'rcpt_to';
  if (command === 'DATA') return code === 'EMESSAGE' ? 'message' : 'data';
  if (!stream.readableDidRead) return 'envelope';
  return stream.readableEnded ? 'message' : 'data';
}

function fieldsOf(error: unknown) {
  const read = (name: string): unknown =>
    error instanceof Error ? Reflect.get(error, name) : undefined;
  const [code, originalCode, command, responseCode, response] = [
    read('code'),
    read('originalCode'),
    read('command'),
    read('responseCode'),
    read('response'),
  ];
  return {
    code: typeof code === 'string' ? code : 'EUNKNOWN',
    originalCode: typeof originalCode === 'string' ? originalCode : undefined,
    command: typeof command === 'string' ? command : undefined,
    responseCode: typeof responseCode === 'number' ? responseCode : undefined,
    response: typeof response === 'string' ? response : undefined,
  };
}
