import { isMask } from './mask.js';

const MAX_NAME_CHARS = 64;
const MAX_VALUE_CHARS = 2_048;
/** With ours a request head stays well below the 8 KiB that many servers take. */
const MAX_HEADERS = 20;
const MAX_HEADERS_CHARS = 4_096;

export type HeaderReason =
  | 'header_name_malformed'
  | 'header_name_too_long'
  | 'header_name_reserved'
  | 'header_value_malformed'
  | 'header_value_too_long'
  | 'header_value_mask'
  | 'header_repeated'
  | 'headers_too_many'
  | 'headers_too_long';

export type HeaderVerdict = { ok: true } | { ok: false; reason: HeaderReason; message: string };
/** One fault of a list: `name` is null when the list as a whole is at fault. */
export type HeaderFault = { name: string | null; reason: HeaderReason; message: string };

const MESSAGES: Record<HeaderReason, string> = {
  header_name_malformed: 'is not a header name, which is made of letters, digits and hyphens',
  header_name_too_long: `is longer than ${MAX_NAME_CHARS} characters`,
  header_name_reserved:
    'is set by Ghost, or could be mistaken by a server on the way; choose another',
  header_value_malformed:
    'has a value with line breaks, control or non-ASCII characters, or with blanks at an end',
  header_value_too_long: `has a value longer than ${MAX_VALUE_CHARS} characters`,
  header_value_mask:
    'has a mask or a placeholder for a value; leave the header out to keep the present one',
  header_repeated: 'is given twice',
  headers_too_many: `more than ${MAX_HEADERS} custom headers`,
  headers_too_long: `custom headers longer than ${MAX_HEADERS_CHARS} characters together`,
};

/** Framing, hop-by-hop, ours, identity of a client, and what opens metadata services and inner APIs. */
const RESERVED_NAMES: ReadonlySet<string> = new Set([
  // RFC 9110 §7.6.1 and 9112: framing and connection
  'host',
  'content-length',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'upgrade',
  'http2-settings',
  'expect',
  'te',
  'trailer',
  'via',
  'max-forwards',
  'early-data',
  'date',
  // what we send ourselves
  'content-type',
  'content-encoding',
  'accept-encoding',
  'user-agent',
  'traceparent',
  'tracestate',
  'x-hub-signature',
  'x-hub-signature-256',
  'stripe-signature',
  // CGI reads it as HTTP_PROXY, by which the receiver's own requests then leave ("httpoxy")
  'proxy',
  // trusted by proxies and applications as the client's address or account, or as another method or path
  'forwarded',
  'x-forwarded',
  'x-real-ip',
  'x-client-ip',
  'x-cluster-client-ip',
  'x-originating-ip',
  'x-remote-ip',
  'x-remote-addr',
  'x-remote-user',
  'x-webauth-user',
  'remote-addr',
  'remote-user',
  'client-ip',
  'wl-proxy-client-ip',
  'true-client-ip',
  'cf-connecting-ip',
  'fastly-client-ip',
  'x-http-method',
  'x-http-method-override',
  'x-method-override',
  'x-original-url',
  'x-original-uri',
  'x-original-method',
  'x-rewrite-url',
  'x-original-host',
  'x-host',
  // the header that proves a deliberate request to GCP, Azure, Linode, DigitalOcean, Oracle, Vault
  'metadata',
  'metadata-flavor',
  'metadata-token',
  'x-metadata-token',
  'x-google-metadata-request',
  'x-vault-request',
  'x-identity-header',
  // `__proto__`: no name for a header, and on an object no property like another
  '--proto--',
]);

const RESERVED_PREFIXES = [
  'x-ghost-',
  'webhook-',
  'svix-',
  'proxy-',
  'x-forwarded-',
  'x-envoy-',
  'x-aws-ec2-metadata-',
  'x-aliyun-ecs-metadata-',
  'x-tencent-metadata-',
];

/** Whether one custom header may be sent with each webhook of a hook. Messages never hold the value. */
export function checkHeader(name: string, value: string): HeaderVerdict {
  const reason = headerFault(name, value);
  return reason === null
    ? { ok: true }
    : { ok: false, reason, message: `${describeName(name)} ${MESSAGES[reason]}.` };
}

/** All custom headers of a hook: each one by `checkHeader`, no name twice in any case, bounded in all. */
export function checkHeaders(
  headers: readonly (readonly [name: string, value: string])[],
): HeaderFault[] {
  const faults: HeaderFault[] = [];
  const seen = new Set<string>();
  for (const [name, value] of headers) {
    const key = name.toLowerCase();
    const reason = headerFault(name, value) ?? (seen.has(key) ? 'header_repeated' : null);
    seen.add(key);
    if (reason !== null) {
      faults.push({ name, reason, message: `${describeName(name)} ${MESSAGES[reason]}.` });
    }
  }
  const chars = headers.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  if (headers.length > MAX_HEADERS) faults.push(listFault('headers_too_many'));
  if (chars > MAX_HEADERS_CHARS) faults.push(listFault('headers_too_long'));
  return faults;
}

function headerFault(name: string, value: string): HeaderReason | null {
  if (name.length > MAX_NAME_CHARS) return 'header_name_too_long';
  // RFC 9110 §5.6.2 token
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) return 'header_name_malformed';
  if (isReserved(name.toLowerCase())) return 'header_name_reserved';
  if (value.length > MAX_VALUE_CHARS) return 'header_value_too_long';
  if (isMask(value)) return 'header_value_mask';
  // RFC 9110 §5.5 without obs-text: visible ASCII, blanks and tabs inside only.
  return /^(?:[!-~](?:[\t -~]*[!-~])?)?$/.test(value) ? null : 'header_value_malformed';
}

function isReserved(name: string): boolean {
  // Servers of the CGI kind read `x_ghost_event` and `x.ghost.event` as `x-ghost-event`.
  const dashed = name.replaceAll(/[^a-z0-9]/g, '-');
  return (
    RESERVED_NAMES.has(dashed) || RESERVED_PREFIXES.some((prefix) => dashed.startsWith(prefix))
  );
}

/** A name as a message may show it: bounded, without control characters. */
function describeName(name: string): string {
  return `Header ${JSON.stringify(name.slice(0, MAX_NAME_CHARS))}`;
}

function listFault(reason: 'headers_too_many' | 'headers_too_long'): HeaderFault {
  return { name: null, reason, message: `There are ${MESSAGES[reason]}.` };
}
