import { type AllowRule, parseAllowRule, parseDenyRule } from './address/address-rules.js';
import type { Cidr } from './address/cidr.js';
import { type HostRule, parseHostRule } from './url/host-rules.js';
import type { ParsedEntry } from './parsed-entry.js';
import { DEFAULT_PORTS, type PortRange, parsePortRange } from './url/port-rules.js';

/** What the operator set about destinations; `DEFAULT_POLICY` when nothing was. */
export type AddressPolicy = {
  /** Lifts exactly these ranges, loopback and metadata too, and the port rule inside them. */
  allowCidrs: readonly AllowRule[];
  /** Refused whatever else says otherwise, embedded in IPv6 too. */
  denyCidrs: readonly Cidr[];
  /** Lifts the name rules and private ranges for these names, never loopback or metadata. */
  allowHosts: readonly HostRule[];
  /** Judge 64:ff9b::/96 by the IPv4 address in it instead of refusing it. */
  allowNat64: boolean;
  httpsOnly: boolean;
  ports: readonly PortRange[];
};

/** The settings as they were typed: lists are separated by commas. */
export type RawAddressPolicy = {
  allowCidrs?: string | undefined;
  denyCidrs?: string | undefined;
  allowHosts?: string | undefined;
  ports?: string | undefined;
  allowNat64?: boolean | undefined;
  httpsOnly?: boolean | undefined;
};

export type ListField = 'allowCidrs' | 'denyCidrs' | 'allowHosts' | 'ports';

/** One bad entry: in which setting, what was typed, and a sentence that follows the entry. */
export type PolicyFault = { field: ListField; entry: string; message: string };

export type ParsedAddressPolicy =
  | { ok: true; policy: AddressPolicy }
  | { ok: false; faults: PolicyFault[] };

export const DEFAULT_POLICY: AddressPolicy = {
  allowCidrs: [],
  denyCidrs: [],
  allowHosts: [],
  allowNat64: false,
  httpsOnly: false,
  ports: DEFAULT_PORTS,
};

/** Parses every entry of every list and reports all faults at once; a field left out or blank is its default. */
export function parseAddressPolicy(raw: RawAddressPolicy): ParsedAddressPolicy {
  const faults: PolicyFault[] = [];
  const list = <T>(field: ListField, parse: (entry: string) => ParsedEntry<T>): T[] =>
    entriesOf(raw[field]).flatMap((entry) => {
      const parsed = entry === '' ? EMPTY_ENTRY : parse(entry);
      if (parsed.ok) return [parsed.value];
      faults.push({ field, entry, message: parsed.message });
      return [];
    });
  const policy: AddressPolicy = {
    allowCidrs: list('allowCidrs', parseAllowRule),
    denyCidrs: list('denyCidrs', parseDenyRule),
    allowHosts: list('allowHosts', parseHostRule),
    allowNat64: raw.allowNat64 ?? DEFAULT_POLICY.allowNat64,
    httpsOnly: raw.httpsOnly ?? DEFAULT_POLICY.httpsOnly,
    ports: isBlank(raw.ports) ? DEFAULT_POLICY.ports : list('ports', parsePortRange),
  };
  return faults.length === 0 ? { ok: true, policy } : { ok: false, faults };
}

const EMPTY_ENTRY = { ok: false, message: 'is empty; remove the comma' } as const;

function isBlank(text: string | undefined): boolean {
  return text === undefined || text.trim() === '';
}

function entriesOf(text: string | undefined): string[] {
  return text === undefined || isBlank(text) ? [] : text.split(',').map((entry) => entry.trim());
}
