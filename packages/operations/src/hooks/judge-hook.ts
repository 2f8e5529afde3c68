import {
  type AddressPolicy,
  checkHeaders,
  checkSecret,
  checkUrl,
  explainRefusal,
  GENERIC_REFUSAL,
  type HeaderFault,
  type RefusalExplanation,
} from '@ghost/policy';

import type { HookFault } from './hook-error.js';

/** Of a hook's `rate_limit`: a thousand a second, as fast as a worker sends to one hook. */
export const MAX_PER_MINUTE = 60_000;

/** Custom headers as somebody gives them: a value sets, null removes; what is not named stays. */
export type HeaderChanges = Readonly<Record<string, string | null>>;

/** What a person gives a hook, and the policy has a say in. */
export interface GivenToHook {
  url?: string | undefined;
  secret?: string | null | undefined;
  headers?: HeaderChanges | undefined;
}

export interface HookJudgement {
  faults: HookFault[];
  /** As it is stored and dialed; undefined when none was given, or it is refused. */
  url: string | undefined;
  /** Why an address was refused: for the operator's log alone, as the owner reads one sentence for all. */
  refusal: ({ reason: string } & RefusalExplanation) | null;
}

/** Judges all that is given before it complains: the one place for the API, the command line and the page. */
export function judgeHook(given: GivenToHook, policy: AddressPolicy): HookJudgement {
  const judgement: HookJudgement = { faults: [], url: undefined, refusal: null };
  if (given.url !== undefined) judgeUrl(given.url, policy, judgement);
  if (typeof given.secret === 'string') {
    const verdict = checkSecret(given.secret);
    if (!verdict.ok) judgement.faults.push(faultAt('secret', verdict));
  }
  if (given.headers !== undefined) judgement.faults.push(...headerFaults(given.headers));
  return judgement;
}

/** Faults of a list of headers: those of one name it. */
export function faultsOfHeaders(
  headers: readonly (readonly [name: string, value: string])[],
): HookFault[] {
  return checkHeaders(headers).map(faultOfHeader);
}

function judgeUrl(url: string, policy: AddressPolicy, judgement: HookJudgement): void {
  const verdict = checkUrl(url, policy);
  if (verdict.ok) {
    judgement.url = verdict.url;
    return;
  }
  const refused = verdict.message === GENERIC_REFUSAL;
  if (refused) judgement.refusal = { reason: verdict.reason, ...explainRefusal(verdict.reason) };
  const code = refused ? 'url_not_allowed' : 'invalid';
  judgement.faults.push({ field: 'url', code, message: verdict.message });
}

/** A name that is only removed is judged too, by an empty value: it may be misspelt. It may be one that we reserved since. */
function headerFaults(headers: HeaderChanges): HookFault[] {
  return checkHeaders(Object.entries(headers).map(([name, value]) => [name, value ?? '']))
    .filter(
      ({ name, reason }) =>
        name === null || headers[name] !== null || reason !== 'header_name_reserved',
    )
    .map(faultOfHeader);
}

function faultOfHeader(fault: HeaderFault): HookFault {
  return faultAt(fault.name === null ? 'headers' : `headers.${fault.name}`, fault);
}

function faultAt(field: string, { reason, message }: { reason: string; message: string }) {
  return { field, code: reason, message };
}
