import { isMask } from './mask.js';

const MAX_SECRET_CHARS = 255;
/** Standard Webhooks: 24 to 64 bytes behind the prefix. */
const MIN_KEY_BYTES = 24;
const MAX_KEY_BYTES = 64;
const PREFIX = 'whsec_';

export type SecretReason =
  | 'secret_empty'
  | 'secret_too_long'
  | 'secret_mask'
  | 'secret_not_printable'
  | 'secret_not_base64'
  | 'secret_wrong_size';

export type SecretVerdict = { ok: true } | { ok: false; reason: SecretReason; message: string };

const MESSAGES: Record<SecretReason, string> = {
  secret_empty: 'The secret is empty. Leave it out to have one generated.',
  secret_too_long: `The secret is longer than ${MAX_SECRET_CHARS} characters.`,
  secret_mask: 'The secret is a mask or a placeholder. Leave it out to keep the present one.',
  secret_not_printable:
    'The secret may hold printable ASCII characters only, with no blank at either end.',
  secret_not_base64: 'What follows whsec_ is not base64 with its padding.',
  secret_wrong_size: `What follows whsec_ must be the base64 of ${MIN_KEY_BYTES} to ${MAX_KEY_BYTES} bytes.`,
};

/**
 * The one check of a secret that a person gives, for API, CLI and page: `whsec_` and the base64 of
 * 24 to 64 bytes, or any other 1 to 255 printable ASCII characters, as GitHub takes. Messages
 * never hold the secret.
 */
export function checkSecret(secret: string): SecretVerdict {
  const reason = secretFault(secret);
  return reason === null ? { ok: true } : { ok: false, reason, message: MESSAGES[reason] };
}

function secretFault(secret: string): SecretReason | null {
  if (secret.trim() === '') return 'secret_empty';
  if (secret.length > MAX_SECRET_CHARS) return 'secret_too_long';
  if (isMask(secret)) return 'secret_mask';
  if (!/^[!-~](?:[ -~]*[!-~])?$/.test(secret)) return 'secret_not_printable';
  if (!secret.startsWith(PREFIX)) return null;
  const encoded = secret.slice(PREFIX.length);
  const key = Buffer.from(encoded, 'base64');
  // Stock verifiers of other languages refuse base64url, blanks and missing padding.
  if (key.toString('base64') !== encoded) return 'secret_not_base64';
  return key.length < MIN_KEY_BYTES || key.length > MAX_KEY_BYTES ? 'secret_wrong_size' : null;
}
