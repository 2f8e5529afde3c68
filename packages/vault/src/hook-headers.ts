import { decrypt, encrypt, type SecretContext } from './envelope.js';
import type { KeyRing } from './key-ring.js';
import { VaultError } from './vault-error.js';

export type SealedHeader = [name: string, value: string];

/** What the ciphertext of a hook's custom headers is bound to. */
export function hookHeadersContext(hookId: number | string): SecretContext {
  return { row: String(hookId), purpose: 'hook_headers' };
}

/**
 * Seals the custom headers of a hook for `hook.headers_ciphertext`: one envelope over the JSON of
 * `[name, value]` pairs, names in lower case. Whether they may be sent is judged before, by
 * `checkHeaders` of `@ghost/policy`.
 */
export function sealHookHeaders(
  ring: KeyRing,
  hookId: number | string,
  headers: readonly (readonly [name: string, value: string])[],
): string {
  const pairs = headers.map(([name, value]) => [name.toLowerCase(), value]);
  return encrypt(ring, JSON.stringify(pairs), hookHeadersContext(hookId));
}

/**
 * Opens what `sealHookHeaders` made: pairs in their order, names in lower case.
 * @throws VaultError `unknown_key`, `tampered` or `malformed`; messages hold neither names nor values
 */
export function openHookHeaders(
  ring: KeyRing,
  hookId: number | string,
  ciphertext: string,
): SealedHeader[] {
  const pairs = parse(decrypt(ring, ciphertext, hookHeadersContext(hookId)));
  if (Array.isArray(pairs) && pairs.every(isPair)) return pairs;
  throw new VaultError('malformed', `hook_headers of ${hookId} are no list of names and values`);
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    // The fault's own message would quote what was sealed.
    return null;
  }
}

function isPair(value: unknown): value is SealedHeader {
  return (
    Array.isArray(value) && value.length === 2 && value.every((part) => typeof part === 'string')
  );
}
