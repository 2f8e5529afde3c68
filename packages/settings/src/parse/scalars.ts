import { isAddress } from '@ghost/policy';
import { type Parse, parsed, problem } from './parsed.js';

const TRUE = new Set(['true', '1', 'on', 'yes']);
const FALSE = new Set(['false', '0', 'off', 'no']);

/** Any text, for what is judged elsewhere together with other settings. */
export const text: Parse<string> = parsed;

/** Decimal digits only: `1e4`, `10s` and `10_000` are faults, not guesses. */
export function wholeNumber(min: number, max: number): Parse<number> {
  return (value) => {
    const number = /^[0-9]{1,15}$/.test(value) ? Number(value) : Number.NaN;
    return number >= min && number <= max
      ? parsed(number)
      : problem(`is not a whole number from ${min} to ${max}`);
  };
}

export const flag: Parse<boolean> = (value) => {
  const lower = value.toLowerCase();
  if (TRUE.has(lower)) return parsed(true);
  return FALSE.has(lower) ? parsed(false) : problem('is neither true nor false');
};

export function oneOf<T extends string>(...choices: readonly T[]): Parse<T> {
  return (value) => {
    const found = choices.find((choice) => choice === value.toLowerCase());
    return found === undefined ? problem(`is none of ${choices.join(', ')}`) : parsed(found);
  };
}

/** A name of labels as DNS hosts have it, lower case. */
export const domainName: Parse<string> = (value) => {
  const lower = value.toLowerCase();
  const labels = lower.split('.');
  const good = labels.every((label) => /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(label));
  return good && lower.length <= 253 ? parsed(lower) : problem('is not a domain name');
};

/** What a server listens on: an address, or a name of this machine. */
export const listenHost: Parse<string> = (value) =>
  isAddress(value) || domainName(value).ok
    ? parsed(value)
    : problem('is neither an address (IPv6 without brackets) nor a host name');

/** `address` or `address:port`, IPv6 with a port in brackets; as `dns.Resolver.setServers` takes them. */
export const dnsServers: Parse<readonly string[]> = (value) => {
  const servers = value.split(',').map((entry) => entry.trim());
  const bad = servers.findIndex((server) => !isDnsServer(server));
  return bad < 0 ? parsed(servers) : problem(`has an entry ${bad + 1} that is no address`);
};

function isDnsServer(server: string): boolean {
  if (isAddress(server)) return true;
  const match = /^(?:\[([0-9a-f:.]+)\]|([0-9.]+))(?::([0-9]{1,5}))?$/i.exec(server);
  if (match === null) return false;
  const [, v6, v4, port = '53'] = match;
  return isAddress(v6 ?? v4 ?? '') && wholeNumber(1, 65_535)(port).ok;
}
