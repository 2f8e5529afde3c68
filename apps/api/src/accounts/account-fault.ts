import { AccountError, type AccountProblem } from '@ghost/operations';

import { ApiError, forbidden, notFound, unauthorized } from '../http/api-error.js';

/** Where an answer has a word for it already; GitHub's, where GitHub has one. */
const CODES: Partial<Record<AccountProblem, string>> = {
  too_many_addresses: 'too_many',
  too_many_tokens: 'too_many',
  already_verified: 'already_exists',
  bad_email: 'invalid',
  bad_label: 'invalid',
  bad_scopes: 'invalid',
  bad_expiry: 'invalid',
};

/** Problems of one field, whatever the wish came in. */
const FIELDS: Partial<Record<AccountProblem, string>> = {
  bad_label: 'label',
  bad_scopes: 'scopes',
  bad_expiry: 'expires_at',
};

/** What the operations say of a wish, as an answer. */
export function accountFault(error: AccountError, asIn: string): ApiError {
  const { problem, message, place } = error;
  const field = FIELDS[problem] ?? (place === undefined ? asIn : `${asIn}.${place}`);
  if (problem === 'unknown_login') return notFound();
  if (problem === 'token_ended') return unauthorized('bad_credentials', 'Bad credentials');
  if (problem === 'scope_not_held' || problem === 'outlives_token') return forbidden(message);
  const code = CODES[problem] ?? problem;
  // The number of things is no fault of a field.
  if (code === 'too_many') return new ApiError({ status: 422, code, message });
  return new ApiError({ status: 422, code, message, errors: [{ field, code, message }] });
}

/**
 * Runs a wish of an account; what is wrong with it becomes an answer.
 * @param field - the field of the request that the wish came in; a list's, where the problem has a place
 */
export async function asked<T>(field: string, wish: () => Promise<T>): Promise<T> {
  try {
    return await wish();
  } catch (error) {
    throw error instanceof AccountError ? accountFault(error, field) : error;
  }
}
