/** The longest text form of an IPv6 address, with a dotted tail (RFC 4291 §2.2). */
const MAX_ADDRESS_CHARS = 45;
const IPV4_GROUPS = 4;
const IPV6_GROUPS = 8;

export type ParsedAddress =
  | { ok: true; bytes: Uint8Array }
  | { ok: false; reason: 'malformed_address' | 'zone_id' };

/**
 * Reads an address in the canonical text forms only: four decimal parts without leading zeros, or
 * RFC 4291 IPv6. `127.1`, `0177.0.0.1`, brackets, blanks and newlines are malformed; a zone id is
 * named as such. Returns 4 or 16 bytes in network order.
 */
export function parseAddress(text: string): ParsedAddress {
  if (text.includes('%')) return { ok: false, reason: 'zone_id' };
  const bytes = parseIpv4(text) ?? parseIpv6(text);
  return bytes === null ? { ok: false, reason: 'malformed_address' } : { ok: true, bytes };
}

/** Whether the text is an address that `parseAddress` reads. */
export function isAddress(text: string): boolean {
  return parseAddress(text).ok;
}

function parseIpv4(text: string): Uint8Array | null {
  const parts = text.split('.');
  if (parts.length !== IPV4_GROUPS) return null;
  const bytes = new Uint8Array(IPV4_GROUPS);
  for (const [index, part] of parts.entries()) {
    if (!/^(?:0|[1-9][0-9]{0,2})$/.test(part)) return null;
    const value = Number(part);
    if (value > 255) return null;
    bytes[index] = value;
  }
  return bytes;
}

function parseIpv6(text: string): Uint8Array | null {
  if (text.length > MAX_ADDRESS_CHARS) return null;
  const hex = withoutDottedTail(text);
  if (hex === null) return null;
  const [left = '', right, ...more] = hex.split('::');
  if (more.length > 0) return null;
  const head = parseGroups(left);
  const tail = right === undefined ? [] : parseGroups(right);
  if (head === null || tail === null) return null;
  const missing = IPV6_GROUPS - head.length - tail.length;
  // "::" stands for one group or more; without it all eight are there.
  if (right === undefined ? missing !== 0 : missing < 1) return null;
  const groups = [...head, ...Array.from({ length: missing }, () => 0), ...tail];
  return Uint8Array.from(groups.flatMap((group) => [group >> 8, group & 0xff]));
}

/** `::ffff:127.0.0.1` → `::ffff:7f00:1`; text without a dot is returned as it is. */
function withoutDottedTail(text: string): string | null {
  if (!text.includes('.')) return text;
  const lastColon = text.lastIndexOf(':');
  const tail = parseIpv4(text.slice(lastColon + 1));
  if (lastColon < 0 || tail === null) return null;
  const view = new DataView(tail.buffer);
  const high = view.getUint16(0).toString(16);
  const low = view.getUint16(2).toString(16);
  return `${text.slice(0, lastColon + 1)}${high}:${low}`;
}

function parseGroups(text: string): number[] | null {
  if (text === '') return [];
  const groups: number[] = [];
  for (const part of text.split(':')) {
    if (!/^[0-9a-fA-F]{1,4}$/.test(part)) return null;
    groups.push(Number.parseInt(part, 16));
  }
  return groups;
}
