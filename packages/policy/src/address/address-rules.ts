import type { ParsedEntry } from '../parsed-entry.js';
import { type Cidr, cidrContains, parseCidr } from './cidr.js';
import { parsePort } from '../url/port-rules.js';

/** A range that the operator lifts; with a port, for that port alone. */
export type AllowRule = { text: string; range: Cidr; port: number | null };

/** Reads `cidr` or `cidr:port`; IPv6 with a port in brackets: `[fd00::/8]:8080`. */
export function parseAllowRule(entry: string): ParsedEntry<AllowRule> {
  const split = splitPort(entry);
  const parsed = parseCidr(split.range);
  if (!parsed.ok) return parsed;
  if (parsed.cidr.prefix === 0) {
    return {
      ok: false,
      message:
        'would allow every address, loopback and metadata too; list the ranges that you mean',
    };
  }
  const port = split.port === null ? null : parsePort(split.port);
  if (split.port !== null && port === null) {
    return { ok: false, message: 'has a port that is not a number from 1 to 65535' };
  }
  return { ok: true, value: { text: entry, range: parsed.cidr, port } };
}

/** Reads `cidr`: what is denied is denied on every port. */
export function parseDenyRule(entry: string): ParsedEntry<Cidr> {
  const split = splitPort(entry);
  if (split.port !== null) {
    return { ok: false, message: 'has a port; a denied range is denied on every port' };
  }
  const parsed = parseCidr(split.range);
  return parsed.ok ? { ok: true, value: parsed.cidr } : parsed;
}

/** Whether a rule lifts this address; a rule with a port lifts nothing while the port is unknown. */
export function isAllowedByRule(
  rules: readonly AllowRule[],
  address: Uint8Array,
  port: number | undefined,
): boolean {
  if (port === 0) return false;
  return rules.some(
    (rule) => (rule.port === null || rule.port === port) && cidrContains(rule.range, address),
  );
}

function splitPort(entry: string): { range: string; port: string | null } {
  const bracketed = /^\[([^\]]*)\](\/[0-9]+)?(?::(.*))?$/.exec(entry);
  if (bracketed !== null) {
    const [, address = '', prefix = '', port = null] = bracketed;
    return { range: `${address}${prefix}`, port };
  }
  // One colon can only part IPv4 from its port: IPv6 has two at least.
  const [range = '', port, ...more] = entry.split(':');
  return port === undefined || more.length > 0 ? { range: entry, port: null } : { range, port };
}
