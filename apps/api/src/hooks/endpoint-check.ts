import {
  type AddressPolicy,
  checkSecret,
  checkUrl,
  explainRefusal,
  GENERIC_REFUSAL,
} from '@ghost/policy';

import { type FieldError, validationFailed } from '../http/api-error.js';

/** What was refused, and why: for the operator's log. */
export interface Refusal {
  reason: string;
  what: string;
  setting: string | null;
}

/**
 * Judges the URL and the secret that somebody gives a hook, both before it complains.
 * @param within - what stands before the names of the fields: `config.` where they are a part of the body
 * @returns the URL as it is stored and dialed; undefined when none was given
 * @throws ApiError 422
 */
export function requireEndpoint(
  given: { url?: string | undefined; secret?: string | null | undefined },
  policy: AddressPolicy,
  within: 'config.' | '',
  onRefusal: (refusal: Refusal) => void,
): string | undefined {
  const errors: FieldError[] = [];
  const url = given.url === undefined ? undefined : checkUrl(given.url, policy);
  if (url !== undefined && !url.ok) {
    const refused = url.message === GENERIC_REFUSAL;
    // The owner gets one sentence for every refused address; the reason is for the operator.
    if (refused) onRefusal({ reason: url.reason, ...explainRefusal(url.reason) });
    const code = refused ? 'url_not_allowed' : 'invalid';
    errors.push({ field: `${within}url`, code, message: url.message });
  }
  if (typeof given.secret === 'string') {
    const secret = checkSecret(given.secret);
    if (!secret.ok) {
      errors.push({ field: `${within}secret`, code: secret.reason, message: secret.message });
    }
  }
  if (errors.length > 0) throw validationFailed(errors);
  return url?.ok === true ? url.url : undefined;
}
