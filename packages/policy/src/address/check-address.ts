import type { AddressPolicy } from '../address-policy.js';
import {
  IPV4_REFUSED,
  IPV6_ALLOWED,
  IPV6_OUTSIDE,
  IPV6_REFUSED,
  METADATA_RANGES,
  type RangeReason,
  type RefusedRange,
} from './address-ranges.js';
import { isAllowedByRule } from './address-rules.js';
import { cidrContains } from './cidr.js';
import { embeddedIpv4, isIsatap, nat64Ipv4 } from './embedded-ipv4.js';
import { isAllowedHost } from '../url/host-rules.js';
import { parseAddress } from './parse-address.js';

/** Stable codes: they stand in logs, metrics and the history that operators read. */
export type PolicyReason =
  | RangeReason
  | 'malformed_address'
  | 'zone_id'
  | 'operator_denied'
  | 'no_answer';

export type Verdict = { allowed: true } | { allowed: false; reason: PolicyReason };

/** As `Verdict`, with the refused address for the operator's log; it is null when there was no answer. */
export type AnswersVerdict =
  | { allowed: true }
  | { allowed: false; reason: PolicyReason; address: string | null };

/** For whom the answers were looked up: the host as `checkUrl` returns it, and the port to dial. */
export type DialTarget = { host: string; port: number };

/** What GHOST_ALLOW_HOSTS lifts for the names that it lists. */
const LIFTED_BY_HOST: ReadonlySet<PolicyReason> = new Set<PolicyReason>(['private', 'cgnat']);

const ALLOWED = { allowed: true } as const;

/**
 * Whether one address may be dialed. Deny by default on parsed bytes: IPv4 outside IANA's special
 * ranges, IPv6 inside 2000::/3 alone. `denyCidrs` wins over all, `allowCidrs` over the built-in
 * tables; a rule with a port counts only when `port` is given and equal.
 */
export function checkAddress(address: string, policy: AddressPolicy, port?: number): Verdict {
  const parsed = parseAddress(address);
  if (!parsed.ok) return { allowed: false, reason: parsed.reason };
  if (isDenied(parsed.bytes, policy)) return { allowed: false, reason: 'operator_denied' };
  if (isAllowedByRule(policy.allowCidrs, parsed.bytes, port)) return ALLOWED;
  const reason = builtInRefusal(parsed.bytes, policy.allowNat64);
  return reason === null ? ALLOWED : { allowed: false, reason };
}

/**
 * Whether a name may be dialed at all, given every address that the resolver answered: one refused
 * address refuses them all (a public one beside an inner one is an attack or a mistake), and an
 * empty answer is `no_answer`. With `target`, its port matches `allowCidrs` rules and its host may
 * lift private ranges.
 */
export function checkAnswers(
  addresses: readonly string[],
  policy: AddressPolicy,
  target?: DialTarget,
): AnswersVerdict {
  if (addresses.length === 0) return { allowed: false, reason: 'no_answer', address: null };
  const vouched = target !== undefined && isAllowedHost(policy.allowHosts, target.host);
  for (const address of addresses) {
    const verdict = checkAddress(address, policy, target?.port);
    if (verdict.allowed || (vouched && isLiftedByHost(address, verdict.reason))) continue;
    return { allowed: false, reason: verdict.reason, address };
  }
  return ALLOWED;
}

/** Not one that NAT64 carries: no exception for IPv4 holds there. */
function isLiftedByHost(address: string, reason: PolicyReason): boolean {
  if (!LIFTED_BY_HOST.has(reason)) return false;
  const parsed = parseAddress(address);
  return parsed.ok && embeddedIpv4(parsed.bytes).length === 0;
}

function isDenied(bytes: Uint8Array, policy: AddressPolicy): boolean {
  if (policy.denyCidrs.length === 0) return false;
  const forms = [bytes, ...embeddedIpv4(bytes)];
  return policy.denyCidrs.some((range) => forms.some((form) => cidrContains(range, form)));
}

function builtInRefusal(bytes: Uint8Array, allowNat64: boolean): RangeReason | null {
  const metadata = reasonIn(METADATA_RANGES, bytes);
  if (metadata !== null) return metadata;
  if (bytes.length === 4) return reasonIn(IPV4_REFUSED, bytes);
  // RFC 6052 §3.1: the prefix carries global IPv4 only, so no exception of the operator applies.
  const translated = allowNat64 ? nat64Ipv4(bytes) : null;
  if (translated !== null) return builtInRefusal(translated, false);
  if (!cidrContains(IPV6_ALLOWED, bytes)) {
    return reasonIn(IPV6_OUTSIDE, bytes) ?? 'not_global_unicast';
  }
  return reasonIn(IPV6_REFUSED, bytes) ?? (isIsatap(bytes) ? 'embedded_ipv4' : null);
}

function reasonIn(ranges: readonly RefusedRange[], bytes: Uint8Array): RangeReason | null {
  return ranges.find(({ range }) => cidrContains(range, bytes))?.reason ?? null;
}
