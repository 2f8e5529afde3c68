import { parseAddress } from './parse-address.js';

/** A range of addresses. `bytes` is the first one: 4 for IPv4, 16 for IPv6; host bits are zero. */
export type Cidr = { text: string; bytes: Uint8Array; prefix: number };

export type ParsedCidr = { ok: true; cidr: Cidr } | { ok: false; message: string };

/**
 * Reads `address/prefix`, or one address alone. Set host bits are a fault: `10.1.2.3/8` is more
 * often a typing error than a wish for the whole 10.0.0.0/8.
 */
export function parseCidr(text: string): ParsedCidr {
  const [addressText = '', prefixText, ...more] = text.split('/');
  const address = parseAddress(addressText);
  if (!address.ok || more.length > 0) {
    return { ok: false, message: 'is not a range such as 10.0.0.0/8, fd00::/8 or 192.0.2.7' };
  }
  const bits = address.bytes.length * 8;
  if (prefixText !== undefined && !/^(?:0|[1-9][0-9]{0,2})$/.test(prefixText)) {
    return { ok: false, message: `has a prefix that is not a number from 0 to ${bits}` };
  }
  const prefix = prefixText === undefined ? bits : Number(prefixText);
  if (prefix > bits) return { ok: false, message: `has a prefix over ${bits}` };
  if (!hostBitsAreZero(address.bytes, prefix)) {
    return {
      ok: false,
      message: `names an address inside a /${prefix}, not its first one; write the first one, or drop /${prefix}`,
    };
  }
  return { ok: true, cidr: { text, bytes: address.bytes, prefix } };
}

/** A range known to be well formed: constants of this package. Throws when it is not. */
export function cidr(text: string): Cidr {
  const parsed = parseCidr(text);
  if (!parsed.ok) throw new TypeError(`${text} ${parsed.message}`);
  return parsed.cidr;
}

/** Whether the address lies in the range; families never mix: `::ffff:10.0.0.1` is not in 10.0.0.0/8. */
export function cidrContains(range: Cidr, address: Uint8Array): boolean {
  if (range.bytes.length !== address.length) return false;
  for (let index = 0; index * 8 < range.prefix; index += 1) {
    const mask = maskOfByte(range.prefix, index);
    if (((range.bytes[index] ?? 0) & mask) !== ((address[index] ?? 0) & mask)) return false;
  }
  return true;
}

function hostBitsAreZero(bytes: Uint8Array, prefix: number): boolean {
  return bytes.every((byte, index) => (byte & ~maskOfByte(prefix, index) & 0xff) === 0);
}

/** The bits of byte `index` that a prefix of `prefix` bits fixes. */
function maskOfByte(prefix: number, index: number): number {
  const fixed = Math.min(8, Math.max(0, prefix - index * 8));
  return (0xff << (8 - fixed)) & 0xff;
}
