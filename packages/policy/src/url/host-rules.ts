import type { ParsedEntry } from '../parsed-entry.js';
import { neverAllowedName, nameFormFault } from './check-name.js';
import { isAddress } from '../address/parse-address.js';
import { parseUrl } from './parse-url.js';

/** A name that the operator vouches for. `suffix`: any name below it, not the name itself. */
export type HostRule = { text: string; kind: 'exact' | 'suffix'; name: string };

/** Reads a name or `*.suffix`; international names are kept in their xn-- form. */
export function parseHostRule(entry: string): ParsedEntry<HostRule> {
  if (entry === '*' || entry === '*.') {
    return { ok: false, message: 'would vouch for every name; list names, or *.suffix' };
  }
  const kind = entry.startsWith('*.') ? 'suffix' : 'exact';
  const written = kind === 'suffix' ? entry.slice(2) : entry;
  if (isAddress(written.replace(/^\[|\]$/g, '')) || written.includes('/')) {
    return { ok: false, message: 'is an address or a URL; addresses belong in GHOST_ALLOW_CIDRS' };
  }
  const name = asciiName(written);
  if (name === null || nameFormFault(name) !== null) {
    return { ok: false, message: 'is not a name such as ci.internal or *.corp.example' };
  }
  if (neverAllowedName(name) !== null) {
    return {
      ok: false,
      message:
        'names loopback or a metadata service, which no name may lift; write its address into GHOST_ALLOW_CIDRS and into the URL',
    };
  }
  return { ok: true, value: { text: entry, kind, name } };
}

/** Whether the operator vouches for this host, given as `checkUrl` returns it. */
export function isAllowedHost(rules: readonly HostRule[], host: string): boolean {
  return rules.some((rule) =>
    rule.kind === 'exact' ? host === rule.name : host.endsWith(`.${rule.name}`),
  );
}

/** The name as a URL would hold it, or null when a URL would not hold it as a name. */
function asciiName(written: string): string | null {
  if (/[\s:@?#\\%*]/.test(written)) return null;
  const text = `http://${written}/`;
  const hostname = parseUrl(text)?.hostname ?? null;
  return hostname === null || isAddress(hostname) ? null : hostname;
}
