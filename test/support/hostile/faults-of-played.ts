import type { AttemptFacts } from '@ghost/contract';

import type { HostileCase } from './answers/hostile-case.js';
import type { Attempted, Played } from './play-case.js';

const KEPT_BODY_BYTES = 16 * 1024;
/** More than a response head may have, as each of its bytes may be stored as two. */
const KEPT_HEAD_BYTES = 2 * 8 * 1024;
/** Timers may be that early. */
const EARLY_MS = 5;

/**
 * What is wrong with how an attempt went, in sentences; none when all is right.
 *
 * @param slackMs - how long after its deadline an attempt may end
 */
export function faultsOf(one: HostileCase, played: Played, slackMs: number): string[] {
  return [...faultsOfAttempt(one, played, slackMs), ...faultsOfSockets(one, played)];
}

export function faultsOfAttempt(
  { expected, ends }: HostileCase,
  { outcome, tookMs, deadlineMs }: Attempted,
  slackMs: number,
): string[] {
  const facts = 'facts' in outcome ? outcome.facts : null;
  const reason = 'reason' in outcome ? outcome.reason : undefined;
  const took = `it took ${tookMs.toFixed(0)} of ${deadlineMs} ms`;
  return [
    ...(outcome.verdict === expected.verdict
      ? []
      : [`it is ${outcome.verdict} (${reason}), not ${expected.verdict}`]),
    ...(expected.reasons === undefined || expected.reasons.includes(reason ?? '')
      ? []
      : [`its reason is ${reason}, not ${expected.reasons.join(' or ')}`]),
    ...(expected.status === undefined || facts?.status === expected.status
      ? []
      : [`its status is ${facts?.status}, not ${expected.status}`]),
    ...(expected.body === undefined || facts?.bodyExcerpt === expected.body
      ? []
      : [`its excerpt is ${JSON.stringify(facts?.bodyExcerpt?.slice(0, 50))}`]),
    ...(tookMs <= deadlineMs + slackMs ? [] : [took]),
    ...(ends && tookMs < deadlineMs - EARLY_MS ? [took] : []),
    ...(!ends && tookMs >= deadlineMs - EARLY_MS ? ['it ended only because time was up'] : []),
    ...(facts ? unstorable(facts) : []),
  ];
}

function faultsOfSockets({ expected }: HostileCase, played: Played): string[] {
  const { connections, requests, left, leftAfterClose } = played;
  const open = expected.kept ? 1 : 0;
  return [
    ...(connections === 1 && requests <= 1
      ? []
      : [`${connections} connections, ${requests} requests`]),
    ...(left.server === open && left.client === open
      ? []
      : [`open: ${left.server} there, ${left.client} here, not ${open}`]),
    ...(leftAfterClose.server === 0 && leftAfterClose.client === 0
      ? []
      : [`open in the end: ${leftAfterClose.server} there, ${leftAfterClose.client} here`]),
  ];
}

/** What no text that is kept of an answer may be. */
export function unstorable(facts: AttemptFacts): string[] {
  const texts = [
    facts.bodyExcerpt ?? '',
    facts.message ?? '',
    ...Object.entries(facts.responseHead ?? {}).flat(),
  ];
  const headBytes = Buffer.byteLength(JSON.stringify(facts.responseHead ?? {}));
  return [
    ...texts
      .filter((text) => text.includes('\0') || !text.isWellFormed())
      .map((text) => `it cannot be stored: ${JSON.stringify(text.slice(0, 50))}`),
    ...(Buffer.byteLength(facts.bodyExcerpt ?? '') > KEPT_BODY_BYTES
      ? ['its excerpt is too long']
      : []),
    ...(headBytes > KEPT_HEAD_BYTES ? ['its kept head is too long'] : []),
  ];
}
