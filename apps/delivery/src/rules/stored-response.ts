import { toStorableText } from '@ghost/contract';
import { parseUrl } from '@ghost/policy';

/** What is kept of a body; the rest is read up to a bound and dropped. */
export const KEPT_BODY_BYTES = 16 * 1024;

/** For what is decoded in one piece: it remembers nothing between calls. */
const UTF8 = new TextDecoder();
/** A byte that is no UTF-8 becomes U+FFFD, which takes three. */
const MOST_BYTES_OF_ONE = 3;

/** Fields whose values are credentials of the receiver, or of the request that it echoes. */
const REDACTED_FIELDS = new Set([
  'set-cookie',
  'cookie',
  'authorization',
  'proxy-authorization',
  'www-authenticate',
]);
export const REDACTED = '[redacted]';

const PLAIN = { enumerable: true, configurable: true, writable: true };

/** Header fields as a person may see them: storable, credentials hidden, targets of redirects cut to their origin. */
export function storedHead(fields: readonly (readonly [string, string])[]): Record<string, string> {
  const head: Record<string, string> = {};
  for (const [rawName, rawValue] of fields) {
    const name = toStorableText(rawName.toLowerCase());
    const value = REDACTED_FIELDS.has(name)
      ? REDACTED
      : toStorableText(name === 'location' ? originOnly(rawValue) : rawValue);
    const all = Object.hasOwn(head, name) ? `${head[name]}, ${value}` : value;
    // A defined property: a receiver may send a field called "__proto__". Seldom, as it takes ten times as long.
    if (name === '__proto__') Object.defineProperty(head, name, { value: all, ...PLAIN });
    else head[name] = all;
  }
  return head;
}

/** The path of a hook often is its secret, and a redirect repeats it. */
function originOnly(location: string): string {
  if (!/^[a-z][a-z0-9+.-]*:\/\//iu.test(location)) return '(a path of the same origin)';
  const url = parseUrl(location);
  return url === null ? '(not a URL)' : `${url.protocol}//${url.host}/…`;
}

/** The start of a body as storable text of at most 16 KiB: bytes that are no UTF-8 become U+FFFD. */
export function storedBody(bytes: Uint8Array): string {
  // Most answers are short, and making room for the longest each time was most of the garbage.
  if (bytes.length * MOST_BYTES_OF_ONE <= KEPT_BODY_BYTES)
    return toStorableText(UTF8.decode(bytes));
  // `stream` leaves out a character that the cut may have split, instead of spoiling it.
  const stream = bytes.length >= KEPT_BODY_BYTES;
  const text = new TextDecoder().decode(bytes.subarray(0, KEPT_BODY_BYTES), { stream });
  const storable = toStorableText(text);
  // Each byte of Latin-1 grew to three: cut again, at a character.
  const room = new Uint8Array(KEPT_BODY_BYTES);
  const { read } = new TextEncoder().encodeInto(storable, room);
  return storable.slice(0, read);
}
