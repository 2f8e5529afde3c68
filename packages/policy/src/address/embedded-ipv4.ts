import { type Cidr, cidr, cidrContains } from './cidr.js';

/** RFC 6052 §2.1. */
const NAT64: Cidr = cidr('64:ff9b::/96');
const NAT64_LOCAL: Cidr = cidr('64:ff9b:1::/48');
const SIX_TO_FOUR: Cidr = cidr('2002::/16');
const TEREDO: Cidr = cidr('2001::/32');
/** Mapped, compatible and translated (SIIT) forms: the IPv4 address is the last 32 bits. */
const LOW_32_BITS: readonly Cidr[] = ['::ffff:0:0/96', '::/96', '::ffff:0:0:0/96'].map(cidr);

/** The IPv4 address behind NAT64's well-known prefix, or null for any other address. */
export function nat64Ipv4(address: Uint8Array): Uint8Array | null {
  return cidrContains(NAT64, address) ? address.slice(12) : null;
}

/**
 * Whether the interface id is ISATAP's (RFC 5214 §6.1), its bits "universal" and "group" set or not: a tunnel to the IPv4
 * address in its last 32 bits.
 */
export function isIsatap(address: Uint8Array): boolean {
  return (
    address.length === 16 &&
    ((address[8] ?? 0) & 0xfc) === 0 &&
    address[9] === 0 &&
    address[10] === 0x5e &&
    address[11] === 0xfe
  );
}

/**
 * Every IPv4 address that an IPv6 address may carry, so that a denied range is denied in each of
 * its disguises. Empty for IPv4 and for IPv6 that carries none.
 */
export function embeddedIpv4(address: Uint8Array): Uint8Array[] {
  const low = address.slice(12);
  if (LOW_32_BITS.some((range) => cidrContains(range, address))) return [low];
  if (cidrContains(NAT64, address)) return [low];
  // Under a /48 RFC 6052 §2.2 splits the address around the byte 8; a /96 below it ends with it.
  if (cidrContains(NAT64_LOCAL, address)) {
    return [low, Uint8Array.of(...address.slice(6, 8), ...address.slice(9, 11))];
  }
  if (cidrContains(SIX_TO_FOUR, address)) return [address.slice(2, 6)];
  // RFC 4380 §4: the server in clear, the client's address inverted.
  if (cidrContains(TEREDO, address)) return [address.slice(4, 8), low.map((byte) => byte ^ 0xff)];
  return isIsatap(address) ? [low] : [];
}
