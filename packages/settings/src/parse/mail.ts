import { checkSecret } from '@ghost/policy';
import { type Parse, parsed, problem } from './parsed.js';
import { domainName } from './scalars.js';

/** An address and the name beside it, apart: joined text would be parsed again as a list. */
export type MailAddress = { name: string | null; address: string };

/** At most `messages` in each `perMs` milliseconds. */
export type RelayRate = { messages: number; perMs: number };

const MAX_LOCAL_CHARS = 64; // RFC 5321 §4.5.3.1.1
const MAX_ADDRESS_CHARS = 254; // RFC 5321 §4.5.3.1.3, less the brackets

const RATE_UNITS: Readonly<Record<string, number>> = { s: 1_000, min: 60_000, h: 3_600_000 };

/** `address`, `Name <address>` or `"Name" <address>`; ASCII addresses only, as senders need them everywhere. */
export const mailAddress: Parse<MailAddress> = (text) => {
  const match = /^(?:"([^"<>]*)"|([^"<>]*?))\s*<([^<>]+)>$/.exec(text);
  const name = (match?.[1] ?? match?.[2] ?? '').trim();
  const address = match?.[3] ?? text;
  if (/\p{Cc}/u.test(name)) return problem('has control characters in its name');
  return isMailAddress(address)
    ? parsed({ name: name === '' ? null : name, address })
    : problem('is neither user@domain nor Name <user@domain>');
};

/** `50/s`, `600/min`, `1000/h`; a number alone is a second's. */
export const relayRate: Parse<RelayRate> = (text) => {
  const match = /^([1-9][0-9]{0,6})(?:\/(s|min|h))?$/.exec(text);
  if (match === null) return problem('is not a rate such as 50/s, 600/min or 1000/h');
  return parsed({ messages: Number(match[1]), perMs: RATE_UNITS[match[2] ?? 's'] ?? 1_000 });
};

export const webhookSecret: Parse<string> = (text) => {
  const verdict = checkSecret(text);
  return verdict.ok ? parsed(text) : problem(`is no secret that can sign: ${verdict.message}`);
};

function isMailAddress(address: string): boolean {
  const at = address.lastIndexOf('@');
  const local = address.slice(0, at);
  return (
    at > 0 &&
    local.length <= MAX_LOCAL_CHARS &&
    address.length <= MAX_ADDRESS_CHARS &&
    /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/i.test(local) &&
    domainName(address.slice(at + 1)).ok
  );
}
