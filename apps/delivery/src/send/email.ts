import {
  type AttemptFacts,
  type AttemptOutcome,
  type EmailMessage,
  toStorableText,
} from '@ghost/contract';

import {
  classifySmtpReply,
  type SmtpFault,
  type SmtpVerdict,
} from '../rules/classify-smtp-reply.js';
import type { Relay } from './relay.js';
import type { Sent } from './sent.js';
import { sendOverSmtp, type SmtpResult, type SmtpSession } from './smtp-session.js';

/** A reply is hostile text of any length. */
const MAX_REPLY_CHARS = 500;
// An address that would leave its angle brackets, or the envelope; or beyond ASCII before the "@", which few relays take
// (SMTPUTF8, RFC 6531): the API refuses such addresses.
const NO_ADDRESS = /[\s<>\p{Cc}]|\P{ASCII}.*@/u;

export interface EmailDelivery {
  id: string;
  message: EmailMessage;
}

export interface EmailSenderOptions extends SmtpSession {
  relay: Relay;
  /** Waits for its turn under the relay's rate. */
  turn?: ((stop: AbortSignal) => Promise<void>) | undefined;
  now: () => number;
}

/**
 * Sends one mail to the relay. A fault of the relay itself is `relay_paused`: it charges nobody's
 * job. A refusal is the job's own outcome, by the table of `classify-smtp-reply`.
 */
export async function sendEmail(
  { id, message }: EmailDelivery,
  options: EmailSenderOptions,
  stop: AbortSignal,
): Promise<Sent> {
  const begun = performance.now();
  const startedAt = new Date(options.now()).toISOString();
  const facts = (): AttemptFacts => ({
    startedAt,
    timings: { total: Math.round(performance.now() - begun) },
  });
  if (NO_ADDRESS.test(message.to.address) || !message.to.address.includes('@')) {
    const why = 'The address is not one that mail can be sent to.';
    const outcome = { verdict: 'dead', reason: 'address_invalid' } as const;
    return { outcome: { ...outcome, facts: { ...facts(), message: why } } };
  }
  await options.turn?.(stop);
  if (stop.aborted) return { outcome: { verdict: 'released', reason: String(stop.reason) } };
  // Another mail met its fault while this one waited for its turn.
  if (options.relay.rests) return { outcome: { verdict: 'released', reason: 'relay_rests' } };
  let result = await sendOverSmtp(message, id, options, stop);
  // The relay had closed an idle connection and got nothing of the mail: no try was made.
  if (result.kind === 'fault' && result.untouched && !stop.aborted) {
    result = await sendOverSmtp(message, id, options, stop);
  }
  return sentFrom(result, message, facts(), options.relay);
}

function sentFrom(
  result: SmtpResult,
  message: EmailMessage,
  facts: AttemptFacts,
  relay: Relay,
): Sent {
  if (result.kind === 'stopped') {
    return { outcome: { verdict: 'released', reason: result.reason } };
  }
  if (result.kind === 'cancelled') {
    return { outcome: { verdict: 'cancelled', reason: result.reason } };
  }
  if (result.kind === 'accepted') {
    relay.works();
    const reply = cut(result.response);
    return { outcome: { verdict: 'delivered', facts: { ...facts, ...replyFacts(reply) } } };
  }
  const { fault, code } = result;
  const verdict = refined(classifySmtpReply(fault), fault.code, code);
  const answeredFacts: AttemptFacts = {
    ...facts,
    ...(fault.text === undefined ? {} : replyFacts(cut(fault.text))),
    message: sentenceOf(verdict, fault.text),
  };
  if (answersTheMail(verdict)) relay.works();
  return {
    outcome: outcomeOf(verdict, fault, answeredFacts, message.to.address, relay.pauseMs),
    note: {
      stage: fault.stage,
      ...(fault.code === undefined ? { code } : {}),
      ...(verdict.verdict !== 'relay_paused' && verdict.alarm ? { alarm: true } : {}),
    },
  };
}

/** It said what it thinks of this mail, so it works. */
function answersTheMail(verdict: SmtpVerdict): boolean {
  return verdict.verdict === 'dead' || (verdict.verdict === 'retry' && !verdict.restsRelay);
}

/** These tell of the session alone: which mail met them does not matter. */
const SESSION_REASONS: ReadonlySet<string> = new Set(['relay_auth']);

/** Why a relay could not be talked to, where it gave no reply that says so. */
const SETUP_REASONS: Record<string, string> = {
  EDNS: 'relay_dns',
  ETLS: 'relay_tls',
  EREQUIRETLS: 'relay_tls',
  EAUTH: 'relay_auth',
  ENOAUTH: 'relay_auth',
  ETIMEDOUT: 'relay_silent',
  deadline: 'relay_silent',
  EPROTOCOL: 'relay_refused',
};

function refined(verdict: SmtpVerdict, replyCode: number | undefined, code: string): SmtpVerdict {
  if (verdict.reason !== 'relay_refused') return verdict;
  if (replyCode !== undefined && code !== 'ETLS' && code !== 'EAUTH') return verdict;
  return { verdict: 'relay_paused', reason: SETUP_REASONS[code] ?? 'relay_unreachable' };
}

function outcomeOf(
  verdict: SmtpVerdict,
  { stage }: SmtpFault,
  facts: AttemptFacts,
  address: string,
  pauseMs: number,
): AttemptOutcome {
  switch (verdict.verdict) {
    case 'retry':
      return {
        ...{ verdict: 'retry', reason: verdict.reason, facts },
        ...(verdict.restsRelay ? { restsRelay: true } : {}),
      };
    case 'dead': {
      const suppress = verdict.suppression === 'hard' ? { suppress: address } : {};
      return { verdict: 'dead', reason: verdict.reason, facts, ...suppress };
    }
    case 'relay_paused':
      return {
        verdict: 'relay_paused',
        reason: verdict.reason,
        pauseMs,
        facts,
        putBack: stage !== 'setup' && !SESSION_REASONS.has(verdict.reason),
      };
  }
}

function sentenceOf(verdict: SmtpVerdict, reply: string | undefined): string {
  if (reply !== undefined) return `The mail relay answered: ${cut(reply)}`;
  if (verdict.reason === 'uncertain') {
    return 'The connection was lost after the whole mail was sent: the relay may have taken it.';
  }
  return verdict.verdict === 'relay_paused'
    ? 'The mail relay could not be used.'
    : 'The connection to the mail relay was lost.';
}

function replyFacts(reply: string): Pick<AttemptFacts, 'status' | 'bodyExcerpt'> {
  const code = /^\d{3}/u.exec(reply)?.[0];
  return { ...(code === undefined ? {} : { status: Number(code) }), bodyExcerpt: reply };
}

function cut(reply: string): string {
  return toStorableText(reply).slice(0, MAX_REPLY_CHARS).toWellFormed();
}
