import { isIP } from 'node:net';
import { type Parse, parsed, problem } from './parsed.js';

const IPV4_BITS = 32;
const IPV6_BITS = 128;

/** Addresses and ranges, parted by commas: `10.0.0.0/8,2001:db8::1`. One that holds every address is refused. */
export const cidrList: Parse<readonly string[]> = (text) => {
  const entries = text.split(',').map((entry) => entry.trim());
  const bad = entries.findIndex((entry) => !isCidr(entry));
  return bad < 0
    ? parsed(entries)
    : problem(`has an entry ${bad + 1} that is neither an address nor a range such as 10.0.0.0/8`);
};

function isCidr(entry: string): boolean {
  const [address = '', bits, ...rest] = entry.split('/');
  const version = isIP(address);
  if (version === 0 || address.includes('%') || rest.length > 0) return false;
  if (bits === undefined) return true;
  const most = version === 4 ? IPV4_BITS : IPV6_BITS;
  return /^[1-9][0-9]{0,2}$/.test(bits) && Number(bits) <= most;
}
