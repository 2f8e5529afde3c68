import { randomBytes } from 'node:crypto';

/** Standard Webhooks: what follows is the base64 of the key. */
const PREFIX = 'whsec_';
/** 192 bits: the length that Standard Webhooks recommends, and 32 characters without padding. */
const GENERATED_BYTES = 24;

/** A new secret: `whsec_` and the base64 of 24 random bytes. */
export function generateSecret(): string {
  return PREFIX + randomBytes(GENERATED_BYTES).toString('base64');
}

/**
 * The `whsec_` form of a secret, for stock Standard Webhooks libraries: they take nothing else. A
 * secret that has the prefix is its own form.
 */
export function standardForm(secret: string): string {
  return secret.startsWith(PREFIX) ? secret : PREFIX + Buffer.from(secret).toString('base64');
}

/**
 * The key of `webhook-signature`: the bytes behind `whsec_`, or else the secret's UTF-8 bytes. Null
 * when the secret is empty, or has the prefix and what follows is not the base64 of some bytes.
 */
export function standardKey(secret: string): Buffer | null {
  if (!secret.startsWith(PREFIX)) return secret === '' ? null : Buffer.from(secret);
  const encoded = secret.slice(PREFIX.length);
  const key = Buffer.from(encoded, 'base64');
  // Node skips what is not base64; stock verifiers refuse it, so it must not be signed with.
  return key.length > 0 && key.toString('base64') === encoded ? key : null;
}
