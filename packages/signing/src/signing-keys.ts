import { createSecretKey, type KeyObject } from 'node:crypto';

import { standardKey } from './secret-key.js';

/** Made once a secret: making and probing a key takes longer than signing 1 KB with it. */
const KEPT = 2_000;

export interface SigningKeys {
  /** The secret's UTF-8 bytes. */
  ghost: KeyObject;
  /** Those behind `whsec_`. */
  standard: KeyObject;
}

const kept = new Map<string, SigningKeys>();

/** The keys of a secret; null when it is empty, or no base64 follows its `whsec_`. */
export function signingKeys(secret: string): SigningKeys | null {
  const known = kept.get(secret);
  if (known !== undefined) return known;
  const standard = standardKey(secret);
  if (standard === null) return null;
  const keys = {
    ghost: createSecretKey(Buffer.from(secret)),
    standard: createSecretKey(standard),
  };
  if (kept.size >= KEPT) {
    const [oldest] = kept.keys();
    if (oldest !== undefined) kept.delete(oldest);
  }
  kept.set(secret, keys);
  return keys;
}
