import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto';

const KEY_BYTES = 32; // AES-256
/** Ids stand in every envelope and in logs: short, and nothing that an envelope or a list uses to part its pieces. */
const KEY_ID = /^[A-Za-z0-9_-]{1,32}$/;

/**
 * The keys by id; new envelopes use the active one, older ones only decrypt. Keys are `KeyObject`s,
 * which print as nothing.
 */
export type KeyRing = { activeId: string; keys: ReadonlyMap<string, KeyObject> };

export type ParsedKeyRing = { ok: true; ring: KeyRing } | { ok: false; faults: string[] };

type ParsedEntry = { ok: true; id: string; key: Buffer } | { ok: false; fault: string };

/**
 * Reads `id:base64(32 bytes)[,older…]`, the first entry being the active one. All faults are
 * collected; they name entries by position only, since a mistyped entry may hold its key anywhere.
 */
export function parseKeyRing(text: string): ParsedKeyRing {
  if (text.trim() === '') return { ok: false, faults: ['holds no key'] };
  const faults: string[] = [];
  const keys = new Map<string, Buffer>();
  for (const [index, entry] of text.split(',').entries()) {
    const position = `entry ${index + 1}`;
    const parsed = parseEntry(entry.trim());
    if (!parsed.ok) {
      faults.push(`${position} ${parsed.fault}`);
      continue;
    }
    const sameKey = [...keys.values()].some((key) => key.equals(parsed.key));
    if (keys.has(parsed.id)) faults.push(`${position} has the id of an entry before it`);
    else if (sameKey) faults.push(`${position} has the key of an entry before it`);
    else keys.set(parsed.id, parsed.key);
  }
  const [activeId] = keys.keys();
  if (activeId === undefined || faults.length > 0) return { ok: false, faults };
  const objects = [...keys].map(([id, key]) => [id, createSecretKey(key)] as const);
  return { ok: true, ring: { activeId, keys: new Map(objects) } };
}

/** A new entry for the front of GHOST_SECRET_KEYS: `id:base64(32 random bytes)`. Throws on a bad id. */
export function generateKeyEntry(id: string): string {
  if (!KEY_ID.test(id)) {
    throw new TypeError('a key id has 1 to 32 letters, digits, hyphens or underscores');
  }
  return `${id}:${randomBytes(KEY_BYTES).toString('base64')}`;
}

function parseEntry(entry: string): ParsedEntry {
  if (entry === '') return { ok: false, fault: 'is empty; remove the comma' };
  const [id = '', encoded, ...more] = entry.split(':');
  if (encoded === undefined || more.length > 0) {
    return { ok: false, fault: 'is not id:key, with one colon' };
  }
  if (!KEY_ID.test(id)) {
    return { ok: false, fault: 'has an id that is not 1 to 32 letters, digits, - or _' };
  }
  const key = Buffer.from(encoded, 'base64');
  if (key.toString('base64') !== encoded) {
    return { ok: false, fault: 'has a key that is not base64 with its padding' };
  }
  if (key.length !== KEY_BYTES) {
    return { ok: false, fault: `has a key of ${key.length} bytes instead of ${KEY_BYTES}` };
  }
  if (key.every((byte) => byte === key[0])) {
    return { ok: false, fault: 'has a key of one repeated byte, which is no secret' };
  }
  return { ok: true, id, key };
}
