import type { SecretContext } from './envelope.js';

/** What the ciphertext of a hook's secret is bound to: whoever writes or reads one uses this. */
export function hookSecretContext(hookId: number | string): SecretContext {
  return { row: String(hookId), purpose: 'hook_secret' };
}
