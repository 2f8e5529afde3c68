import { createCipheriv, createDecipheriv, type KeyObject, randomBytes } from 'node:crypto';
import type { KeyRing } from './key-ring.js';
import { VaultError } from './vault-error.js';

const ALGORITHM = 'aes-256-gcm';
const IV_BYTES = 12; // NIST SP 800-38D §5.2.1.1; random: good for 2^32 envelopes a key
/** Given to both sides: without it Node 20 takes a tag of 4 bytes, which can be guessed. */
const TAG_BYTES = 16;

/** version, key id, then IV, ciphertext and tag in base64url. */
const ENVELOPE =
  /^v1\.([A-Za-z0-9_-]{1,32})\.([A-Za-z0-9_-]{16})\.([A-Za-z0-9_-]*)\.([A-Za-z0-9_-]{22})$/;

/** What a secret belongs to: a copy of its envelope in another row, or for another purpose, does not open. */
export type SecretContext = {
  /** The row's own name, such as `hook_secret:42`. */
  row: string;
  /** What the plaintext is, such as `signing-secret` or `custom-headers`. */
  purpose: string;
};

type Envelope = { keyId: string; iv: Buffer; ciphertext: Buffer; tag: Buffer };

/**
 * Seals text under the active key: AES-256-GCM, a random IV, the context and the key id
 * authenticated. Returns one line of ASCII, `v1.<key id>.<iv>.<ciphertext>.<tag>`. Throws on text
 * that UTF-8 cannot hold (lone surrogates).
 */
export function encrypt(ring: KeyRing, plaintext: string, context: SecretContext): string {
  if (!plaintext.isWellFormed()) throw new TypeError('the plaintext holds a lone surrogate');
  const keyId = ring.activeId;
  const iv = randomBytes(IV_BYTES);
  const key = keyOf(ring, keyId);
  const cipher = createCipheriv(ALGORITHM, key, iv, { authTagLength: TAG_BYTES });
  cipher.setAAD(authenticated(keyId, context));
  const ciphertext = Buffer.concat([cipher.update(plaintext, 'utf8'), cipher.final()]);
  const parts = [iv, ciphertext, cipher.getAuthTag()].map((part) => part.toString('base64url'));
  return ['v1', keyId, ...parts].join('.');
}

/** Opens an envelope with the key that it names. Throws `VaultError`: `unknown_key`, `tampered` or `malformed`. */
export function decrypt(ring: KeyRing, envelope: string, context: SecretContext): string {
  const { keyId, iv, ciphertext, tag } = parseEnvelope(envelope);
  const key = keyOf(ring, keyId);
  const decipher = createDecipheriv(ALGORITHM, key, iv, { authTagLength: TAG_BYTES });
  decipher.setAAD(authenticated(keyId, context));
  decipher.setAuthTag(tag);
  try {
    return Buffer.concat([decipher.update(ciphertext), decipher.final()]).toString('utf8');
  } catch (cause) {
    throw new VaultError(
      'tampered',
      `${context.purpose} of ${context.row} does not open with key "${keyId}": it was changed or moved, or that id now names another key`,
      { cause },
    );
  }
}

/** The key id that an envelope names. Throws `VaultError` `malformed`. */
export function keyIdOf(envelope: string): string {
  return parseEnvelope(envelope).keyId;
}

/** Whether an envelope is sealed under another key than the active one. Throws `VaultError` `malformed`. */
export function needsRotation(ring: KeyRing, envelope: string): boolean {
  return keyIdOf(envelope) !== ring.activeId;
}

/** The same secret under the active key; an envelope that is already there is returned as it is. Throws as `decrypt`. */
export function reencrypt(ring: KeyRing, envelope: string, context: SecretContext): string {
  if (!needsRotation(ring, envelope)) return envelope;
  return encrypt(ring, decrypt(ring, envelope, context), context);
}

function keyOf(ring: KeyRing, keyId: string): KeyObject {
  const key = ring.keys.get(keyId);
  if (key !== undefined) return key;
  throw new VaultError(
    'unknown_key',
    `key "${keyId}" is not in GHOST_SECRET_KEYS; add it behind the active one`,
  );
}

/** JSON of strings is one to one: no two contexts share their bytes. */
function authenticated(keyId: string, { row, purpose }: SecretContext): Buffer {
  return Buffer.from(JSON.stringify(['ghost-vault-v1', keyId, purpose, row]));
}

function parseEnvelope(text: string): Envelope {
  const match = ENVELOPE.exec(text);
  const [, keyId = '', ...encoded] = match ?? [];
  const parts = encoded.map((part) => Buffer.from(part, 'base64url'));
  const [iv, ciphertext, tag] = parts;
  // The last base64 character has spare bits: only the one spelling that we write is read.
  const exact = parts.every((part, index) => part.toString('base64url') === encoded[index]);
  if (iv === undefined || ciphertext === undefined || tag === undefined || !exact) {
    throw new VaultError('malformed', 'the stored secret is not an envelope of this vault');
  }
  return { keyId, iv, ciphertext, tag };
}
