import { KeyedMac, MAC_BYTES } from './keyed-mac.js';
import type { KeyRing } from './key-ring.js';

const PURPOSE = 'ghost bounce address v1';
const PREFIX = 'b-';
const ID_BYTES = 16;
const TOKEN_CHARS = Math.ceil(((ID_BYTES + MAC_BYTES) * 8) / 5);
/** RFC 4648, in lower case: local parts are folded on the way by some, and case carries nothing here. */
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567';
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/u;

/**
 * The return path of one mail (VERP): bounces and complaints that come to it are about this job, and
 * nobody else can make one. Its local part has 54 characters of the 64 that RFC 5321 lets it have.
 * @param jobId - a uuid in lower case
 */
export function bounceAddress(ring: KeyRing, jobId: string, domain: string): string {
  if (!UUID.test(jobId)) throw new Error(`A job's id is a uuid in lower case, not "${jobId}"`);
  const id = Buffer.from(jobId.replaceAll('-', ''), 'hex');
  return `${PREFIX}${toBase32(Buffer.concat([id, macOf(ring).make(id)]))}@${domain}`;
}

/** The job that a return path belongs to; null for whatever no key of the ring signed. Its domain is not looked at. */
export function jobOfBounceAddress(ring: KeyRing, address: string): string | null {
  const local = address.slice(0, Math.max(0, address.lastIndexOf('@'))).toLowerCase();
  if (!local.startsWith(PREFIX) || local.length !== PREFIX.length + TOKEN_CHARS) return null;
  const token = fromBase32(local.slice(PREFIX.length));
  if (token === null) return null;
  const id = token.subarray(0, ID_BYTES);
  if (!macOf(ring).made(token.subarray(ID_BYTES), id)) return null;
  const hex = id.toString('hex');
  const ends = [8, 12, 16, 20, 32];
  return ends.map((end, index) => hex.slice(ends[index - 1] ?? 0, end)).join('-');
}

/** One a ring: a mail is no time to derive keys. */
const MACS = new WeakMap<KeyRing, KeyedMac>();

function macOf(ring: KeyRing): KeyedMac {
  const mac = MACS.get(ring) ?? new KeyedMac(ring, PURPOSE);
  MACS.set(ring, mac);
  return mac;
}

function toBase32(bytes: Buffer): string {
  let text = '';
  let bits = 0;
  let held = 0;
  for (const byte of bytes) {
    held = (held << 8) | byte;
    bits += 8;
    for (; bits >= 5; bits -= 5) text += ALPHABET[(held >> (bits - 5)) & 31];
    held &= (1 << bits) - 1;
  }
  return bits === 0 ? text : text + ALPHABET[(held << (5 - bits)) & 31];
}

/** Null where a character is none, or the last has bits that no token has: one token has one text. */
function fromBase32(text: string): Buffer | null {
  const bytes: number[] = [];
  let bits = 0;
  let held = 0;
  for (const character of text) {
    const value = ALPHABET.indexOf(character);
    if (value === -1) return null;
    held = (held << 5) | value;
    bits += 5;
    if (bits < 8) continue;
    bits -= 8;
    bytes.push(held >> bits);
    held &= (1 << bits) - 1;
  }
  return held === 0 ? Buffer.from(bytes) : null;
}
