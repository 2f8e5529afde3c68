import {
  ADDRESS_UNSENDABLE,
  NO_SUCH_ADDRESS,
  SENDER_REFUSED,
  speaksOfReputation,
  type Suppression,
  TOO_LARGE,
  withoutAddresses,
} from '@ghost/contract';

/**
 * Where in the session a fault came. `setup`: anything before MAIL FROM; `envelope`: from there up to
 * the content, where no reply tells more; `data`: at DATA, or within the content; `message`: after the
 * final dot, when the relay may have taken the mail.
 */
export type SmtpStage = 'setup' | 'envelope' | 'mail_from' | 'rcpt_to' | 'data' | 'message';

/** A reply of the relay, or its absence (connection lost, silence): then there is no code. */
export interface SmtpFault {
  stage: SmtpStage;
  code?: number;
  /** Text of the reply, codes included: RFC 3463 statuses are read from it. */
  text?: string;
}

export type SmtpVerdict =
  /** `restsRelay`: the connection was lost, so the relay rests too. */
  | { verdict: 'retry'; reason: string; restsRelay?: true; alarm?: true }
  | { verdict: 'dead'; reason: string; suppression?: Suppression; alarm?: true }
  | { verdict: 'relay_paused'; reason: string };

interface Rule {
  stages?: readonly SmtpStage[];
  /** Reply codes: one, or a range by its first digit. */
  codes?: readonly number[];
  firstDigit?: 2 | 3 | 4 | 5;
  /** Enhanced statuses (RFC 3463), without the class digit. */
  statuses?: readonly string[];
  /** The whole subject of an enhanced status: `7` is x.7.*. */
  subject?: string;
  /** What its text says, addresses left out. */
  says?: (text: string) => boolean;
  means: SmtpVerdict;
}

// A relay that no longer knows us refuses every recipient so, mostly as a mere 5.7.1.
const RELAYING_WORDING =
  /\brelay(?:ing)?(?: access)?(?: is)? (?:denied|prohibited|not (?:permitted|allowed))\b|\b(?:unable|not (?:permitted|allowed|authori[sz]ed)) to relay\b/iu;

const PAUSE = (reason: string): SmtpVerdict => ({ verdict: 'relay_paused', reason });
const REPUTATION: SmtpVerdict = { verdict: 'dead', reason: 'policy_refused', alarm: true };

/** The table of DESIGN §8, first match wins. */
const RULES: readonly Rule[] = [
  // The relay itself: nobody's job is charged.
  { codes: [421], means: PAUSE('relay_closing') },
  { codes: [530, 534, 535, 538], means: PAUSE('relay_auth') },
  { stages: ['setup'], means: PAUSE('relay_refused') },
  // Lost or silent before a byte of the content.
  { stages: ['envelope'], means: PAUSE('relay_refused') },
  // "Bad sequence of commands": the session, not the mail.
  { codes: [503], means: { verdict: 'retry', reason: 'bad_sequence' } },
  // At MAIL FROM no recipient is known yet: a full disk, a rate.
  { stages: ['mail_from'], firstDigit: 4, means: PAUSE('relay_deferred') },
  // Any 4xx can pass, greylisting and full disks included.
  { firstDigit: 4, means: { verdict: 'retry', reason: 'deferred' } },
  // A full mailbox may be emptied.
  { firstDigit: 5, statuses: ['2.2'], means: { verdict: 'retry', reason: 'mailbox_full' } },
  // Our own DNS may be what is broken.
  { firstDigit: 5, statuses: ['1.2'], means: { verdict: 'retry', reason: 'domain_unknown' } },
  // Too large for this reader or for the relay: nothing about the address.
  {
    firstDigit: 5,
    statuses: TOO_LARGE,
    means: { verdict: 'dead', reason: 'message_too_large' },
  },
  { stages: ['mail_from'], codes: [552], means: { verdict: 'dead', reason: 'message_too_large' } },
  // A recipient with letters that this relay takes none of.
  {
    firstDigit: 5,
    statuses: ADDRESS_UNSENDABLE,
    means: { verdict: 'dead', reason: 'address_invalid' },
  },
  // What is refused at MAIL FROM is the sender of all mails, and so is who may not relay at all.
  { stages: ['mail_from'], firstDigit: 5, means: PAUSE('sender_refused') },
  // Or the reader's own server says so, which must not rest the relay. Our DNS is mended within a mail's time, or not.
  {
    firstDigit: 5,
    statuses: SENDER_REFUSED,
    means: { verdict: 'retry', reason: 'sender_refused', alarm: true },
  },
  // By no other status: a relay that asks the reader's own server first quotes that, and it may say what it likes.
  ...[{ subject: '7' }, { statuses: [''] }].map(
    (status): Rule => ({
      ...{ stages: ['rcpt_to'], firstDigit: 5, ...status },
      ...{ says: saysNoRelaying, means: PAUSE('relaying_denied') },
    }),
  ),
  // Our reputation or our set-up: never the reader's fault.
  { firstDigit: 5, subject: '7', means: REPUTATION },
  { firstDigit: 5, says: speaksOfReputation, means: REPUTATION },
  {
    stages: ['rcpt_to'],
    firstDigit: 5,
    statuses: NO_SUCH_ADDRESS,
    means: { verdict: 'dead', reason: 'address_unknown', suppression: 'hard' },
  },
  // RFC 5321 §4.2.3: 552 alone is a quota.
  { codes: [552], means: { verdict: 'retry', reason: 'mailbox_full' } },
  { firstDigit: 5, means: { verdict: 'dead', reason: 'refused', suppression: 'strike' } },
  // No reply, or one that is no answer to what was asked.
  { means: { verdict: 'retry', reason: 'connection_lost', restsRelay: true } },
];

/** Tried late and seldom, with the same Message-ID: the relay may have taken the mail. */
const UNCERTAIN: SmtpVerdict = { verdict: 'retry', reason: 'uncertain', restsRelay: true };

/** What a fault of the session means for the mail: by code and enhanced status, in one table. */
export function classifySmtpReply(fault: SmtpFault): SmtpVerdict {
  if (fault.stage === 'message' && !isFailure(fault.code)) return UNCERTAIN;
  const status = enhancedStatus(fault.text);
  const rule = RULES.find((one) => matches(one, fault, status));
  return rule?.means ?? { verdict: 'retry', reason: 'connection_lost', restsRelay: true };
}

/** `2.1` of `550 5.2.1 …`, when its class is the reply's. */
export function enhancedStatus(text: string | undefined): string | undefined {
  const found = /^([245])\d\d[ -]\1\.(\d{1,3}\.\d{1,3})(?:\s|$)/u.exec(text ?? '');
  return found?.[2];
}

function isFailure(code: number | undefined): boolean {
  return code !== undefined && code >= 400 && code < 600;
}

function matches(rule: Rule, fault: SmtpFault, status: string | undefined): boolean {
  const digit = Math.floor((fault.code ?? 0) / 100);
  return (
    (rule.stages?.includes(fault.stage) ?? true) &&
    (rule.codes?.includes(fault.code ?? 0) ?? true) &&
    (rule.firstDigit === undefined || rule.firstDigit === digit) &&
    (rule.statuses?.includes(status ?? '') ?? true) &&
    (rule.subject === undefined || status?.split('.')[0] === rule.subject) &&
    (rule.says?.(fault.text ?? '') ?? true)
  );
}

function saysNoRelaying(text: string): boolean {
  return RELAYING_WORDING.test(withoutAddresses(text));
}
