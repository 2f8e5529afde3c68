import type { AddressPolicy } from '../address-policy.js';
import { isAllowedByRule } from '../address/address-rules.js';
import { checkAddress, type PolicyReason } from '../address/check-address.js';
import {
  internalName,
  type NameFormReason,
  type NamePolicyReason,
  nameFormFault,
  neverAllowedName,
} from './check-name.js';
import { isAllowedHost } from './host-rules.js';
import { parseAddress } from '../address/parse-address.js';
import { parseUrl } from './parse-url.js';
import { isPortAllowed } from './port-rules.js';
import { GENERIC_REFUSAL } from '../generic-refusal.js';

/** Longer than any known receiver's URL (signed ones of clouds reach some 600), shorter than proxies' limits. */
const MAX_URL_CHARS = 2_048;

export type UrlFormReason =
  | 'url_empty'
  | 'url_too_long'
  | 'url_hidden_characters'
  | 'url_malformed'
  | 'url_scheme'
  | 'url_https_only'
  | 'url_userinfo'
  | 'port_refused';

export type UrlReason = UrlFormReason | NameFormReason | NamePolicyReason | PolicyReason;

export type UrlVerdict =
  | {
      ok: true;
      /** Normalised href without fragment: what is stored and dialed. */
      url: string;
      /** Lower case, xn--, IPv6 without brackets. */
      host: string;
      port: number;
      /** https. */
      secure: boolean;
      /** The host is an address: no look-up will follow, and this check was the address check. */
      literal: boolean;
    }
  | { ok: false; reason: UrlReason; message: string };

/** What the owner reads about the form of a URL; everything else is `GENERIC_REFUSAL`. */
const FORM_MESSAGES: Record<UrlFormReason | NameFormReason, string> = {
  url_empty: 'The URL is empty.',
  url_too_long: `The URL, percent-encoded, is longer than ${MAX_URL_CHARS} characters.`,
  url_hidden_characters:
    'The URL holds blanks, line breaks or hidden characters. Remove them, or percent-encode them in the path.',
  url_malformed: 'This is not a URL such as https://example.com/hook.',
  url_scheme: 'The URL must start with https:// or http://.',
  url_https_only: 'The URL must start with https://.',
  url_userinfo:
    'The URL holds a user name or password. Send credentials in a custom header instead.',
  port_refused:
    'Webhooks are not sent to this port. Unless the operator chose others, 443, 80 and those from 1024 on that no other service is known for are allowed.',
  name_malformed: 'The host name holds characters that host names cannot have.',
  name_trailing_dot: 'The host name ends with a dot. Remove it.',
  name_empty_label: 'The host name has an empty part between two dots.',
  name_label_too_long: 'A part of the host name is longer than 63 characters.',
  name_too_long: 'The host name is longer than 253 characters.',
};

/**
 * Whether a webhook may be saved with, or sent to, this URL, as far as can be said without a
 * look-up: form, scheme, port, name, and literal addresses through `checkAddress`. A literal that
 * `allowCidrs` lifts is free of the port rule too (never port 0). For a name the dialer then asks
 * `checkAnswers` about each answer. The reason is for the operator's log, the message for the owner.
 */
export function checkUrl(input: string, policy: AddressPolicy): UrlVerdict {
  const rawFault = rawFormFault(input);
  if (rawFault !== null) return refuse(rawFault);
  const url = parseUrl(input);
  if (url === null) return refuse('url_malformed');
  if (url.username !== '' || url.password !== '') return refuse('url_userinfo');
  const secure = url.protocol === 'https:';
  if (policy.httpsOnly && !secure) return refuse('url_https_only');
  url.hash = '';
  // What is stored is judged again at each send: percent-encoding may have made it longer.
  if (url.href.length > MAX_URL_CHARS) return refuse('url_too_long');
  const port = url.port === '' ? (secure ? 443 : 80) : Number(url.port);
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const parsed = parseAddress(host);
  const reason = parsed.ok
    ? literalFault(host, parsed.bytes, port, policy)
    : nameFault(host, port, policy);
  if (reason !== null) return refuse(reason);
  return { ok: true, url: url.href, host, port, secure, literal: parsed.ok };
}

/** What is wrong with the text before any parser mends it: parsers drop newlines and turn `\` into `/`. */
function rawFormFault(input: string): UrlFormReason | null {
  if (input === '') return 'url_empty';
  if (input.length > MAX_URL_CHARS) return 'url_too_long';
  if (/[\p{Cc}\p{Cf}\p{Cs}\p{Z}]/u.test(input)) return 'url_hidden_characters';
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(input)?.[1]?.toLowerCase();
  if (scheme === undefined) return 'url_malformed';
  if (scheme !== 'http' && scheme !== 'https') return 'url_scheme';
  return /^https?:\/\/[^/?#]/i.test(input) && !input.includes('\\') ? null : 'url_malformed';
}

function literalFault(
  host: string,
  bytes: Uint8Array,
  port: number,
  policy: AddressPolicy,
): UrlReason | null {
  const verdict = checkAddress(host, policy, port);
  if (!verdict.allowed) return verdict.reason;
  if (isAllowedByRule(policy.allowCidrs, bytes, port)) return null;
  return isPortAllowed(policy.ports, port) ? null : 'port_refused';
}

function nameFault(host: string, port: number, policy: AddressPolicy): UrlReason | null {
  const fault = nameFormFault(host) ?? neverAllowedName(host);
  if (fault !== null) return fault;
  if (!isAllowedHost(policy.allowHosts, host)) {
    const internal = internalName(host);
    if (internal !== null) return internal;
  }
  return isPortAllowed(policy.ports, port) ? null : 'port_refused';
}

function refuse(reason: UrlReason): { ok: false; reason: UrlReason; message: string } {
  const message =
    reason in FORM_MESSAGES ? FORM_MESSAGES[reason as UrlFormReason] : GENERIC_REFUSAL;
  return { ok: false, reason, message };
}
