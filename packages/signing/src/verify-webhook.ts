import { timingSafeEqual } from 'node:crypto';
import { digest, type WireBody } from './digest.js';
import { standardKey } from './secret-key.js';

/** As Stripe's and the Standard Webhooks libraries have it. */
const DEFAULT_TOLERANCE_SECONDS = 300;
/** More than any rotation needs; bounds the work that a forged header can ask for. */
const MAX_SIGNATURES = 16;
const DIGEST_BYTES = 32;

export type VerificationCode =
  | 'missing_header'
  | 'malformed_header'
  | 'body_not_raw'
  | 'unusable_secret'
  | 'no_match'
  | 'timestamp_too_old'
  | 'timestamp_too_new';

/** Thrown by `verifyWebhook`; `code` is stable, the message is for people. */
export class WebhookVerificationError extends Error {
  readonly code: VerificationCode;

  constructor(code: VerificationCode, message: string) {
    super(message);
    this.name = 'WebhookVerificationError';
    this.code = code;
  }
}

/** Headers as Node, Express, Fastify (a record) or `fetch` (`Headers`) hand them over. */
export type ReceivedHeaders =
  | Readonly<Record<string, string | readonly string[] | undefined>>
  | { get(name: string): string | null };

export type ReceivedWebhook = {
  headers: ReceivedHeaders;
  /** The body as it came, before any JSON parser. */
  body: WireBody;
  /** One secret, or several while you change them; none (a variable that is not set) verifies nothing. */
  secret: string | readonly string[] | undefined;
  /** How old or early a message may be, in seconds; 300 when left out. */
  toleranceSeconds?: number;
  /** Unix seconds; the clock of this machine when left out. */
  now?: number;
  /** `standard`: `webhook-signature`; `ghost`: `x-ghost-signature`. Left out: the first of them that came. */
  scheme?: Scheme;
};

type Scheme = 'standard' | 'ghost';

export type VerifiedWebhook = {
  scheme: Scheme;
  /** The signed id, equal on every attempt of a delivery; null under `ghost`, which signs none. */
  id: string | null;
  /** Unix seconds at which this attempt was signed. */
  timestamp: number;
};

type Claim = { id: string | null; timestamp: number; prefix: string; signatures: Buffer[] };

/**
 * Verifies a received webhook and returns what is signed beside the body, or throws
 * `WebhookVerificationError`. Signatures are compared in constant time, before the timestamp is
 * judged: `timestamp_too_old` is an authentic message that came late or again.
 */
export function verifyWebhook(received: ReceivedWebhook): VerifiedWebhook {
  const { headers, body, toleranceSeconds = DEFAULT_TOLERANCE_SECONDS } = received;
  if (typeof body !== 'string' && !(body instanceof Uint8Array)) {
    fail('body_not_raw', 'The body is parsed already; pass the bytes or the text as they came.');
  }
  const scheme = received.scheme ?? schemeOf(headers);
  const claim = scheme === 'standard' ? readStandard(headers) : readGhost(headers);
  const keys = keysOf(received.secret, scheme);
  const expected = keys.map((key) => digest(key, claim.prefix, body));
  if (!anyEqual(expected, claim.signatures)) {
    fail('no_match', 'No signature fits: another secret, or the body is not as it was sent.');
  }
  const age = (received.now ?? Math.floor(Date.now() / 1000)) - claim.timestamp;
  if (-age > toleranceSeconds) {
    fail('timestamp_too_new', `Signed ${-age} s in the future; is the clock here right?`);
  }
  // Asked so that no number (a setting that is missing) accepts nothing, instead of everything.
  if (!(age <= toleranceSeconds)) {
    fail('timestamp_too_old', `Signed ${age} s ago; at most ${toleranceSeconds} s are accepted.`);
  }
  return { scheme, id: claim.id, timestamp: claim.timestamp };
}

function schemeOf(headers: ReceivedHeaders): Scheme {
  if (readHeader(headers, 'webhook-signature') !== null) return 'standard';
  if (readHeader(headers, 'x-ghost-signature') !== null) return 'ghost';
  return fail('missing_header', 'Neither webhook-signature nor x-ghost-signature came.');
}

function readStandard(headers: ReceivedHeaders): Claim {
  const id = requireHeader(headers, 'webhook-id');
  const timestamp = readSeconds(requireHeader(headers, 'webhook-timestamp'), 'webhook-timestamp');
  const signatures = requireHeader(headers, 'webhook-signature')
    .split(' ', MAX_SIGNATURES)
    .filter((part) => part.startsWith('v1,'))
    .flatMap((part) => bytesOf(part.slice('v1,'.length), 'base64'));
  return { id, timestamp, prefix: `${id}.${timestamp}.`, signatures };
}

function readGhost(headers: ReceivedHeaders): Claim {
  const name = 'x-ghost-signature';
  const parts = requireHeader(headers, name).split(',', MAX_SIGNATURES + 1);
  const times = parts.filter((part) => part.startsWith('t='));
  const [time = '', ...more] = times.map((part) => part.slice('t='.length));
  if (more.length > 0) fail('malformed_header', `${name} has more than one timestamp.`);
  const timestamp = readSeconds(time, name);
  const signatures = parts
    .filter((part) => part.startsWith('v1='))
    .flatMap((part) => bytesOf(part.slice('v1='.length), 'hex'));
  return { id: null, timestamp, prefix: `${timestamp}.`, signatures };
}

/** As `flatMap` takes them: one text alone stands for the bytes of a signature, although Node reads many. */
function bytesOf(text: string, encoding: 'base64' | 'hex'): Buffer[] {
  const bytes = Buffer.from(text, encoding);
  return bytes.length === DIGEST_BYTES && bytes.toString(encoding) === text ? [bytes] : [];
}

/** Digits only and no leading zero: what is signed is the text, and one text stands for one time. */
function readSeconds(text: string, name: string): number {
  if (/^(?:0|[1-9][0-9]{0,14})$/.test(text)) return Number(text);
  return fail('malformed_header', `${name} has no timestamp in whole seconds.`);
}

function keysOf(secret: ReceivedWebhook['secret'], scheme: Scheme): (string | Buffer)[] {
  const secrets = typeof secret === 'string' ? [secret] : (secret ?? []);
  const keys = secrets.map((text) => {
    if (typeof text !== 'string') return null;
    return scheme === 'standard' ? standardKey(text) : text;
  });
  const usable = keys.filter((key) => key !== null && key.length > 0) as (string | Buffer)[];
  if (usable.length === 0 || usable.length < keys.length) {
    fail('unusable_secret', 'A secret is missing, empty, or no base64 follows its whsec_.');
  }
  return usable;
}

function anyEqual(expected: readonly Buffer[], signatures: readonly Buffer[]): boolean {
  let found = false;
  for (const signature of signatures) {
    // No early exit: how long it takes does not tell which secret or signature fitted.
    for (const value of expected) found = timingSafeEqual(value, signature) || found;
  }
  return found;
}

function requireHeader(headers: ReceivedHeaders, name: string): string {
  return readHeader(headers, name) ?? fail('missing_header', `Header ${name} is missing.`);
}

function readHeader(headers: ReceivedHeaders, name: string): string | null {
  if (typeof headers.get === 'function') return headers.get(name);
  const record = headers as Readonly<Record<string, string | readonly string[] | undefined>>;
  const key = Object.keys(record).find((candidate) => candidate.toLowerCase() === name);
  const value = key === undefined ? undefined : record[key];
  if (value === undefined || typeof value === 'string') return value ?? null;
  const [only = null, ...more] = value;
  return more.length === 0 ? only : fail('malformed_header', `Header ${name} came more than once.`);
}

function fail(code: VerificationCode, message: string): never {
  throw new WebhookVerificationError(code, message);
}
