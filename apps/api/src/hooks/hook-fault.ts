import {
  type GivenToHook,
  HookError,
  type HookFault,
  type HookJudgement,
  judgeHook,
} from '@ghost/operations';
import type { AddressPolicy } from '@ghost/policy';

import { ApiError, invalidField, notFound, validationFailed } from '../http/api-error.js';

/** What was refused, and why: for the operator's log. */
export type Refusal = NonNullable<HookJudgement['refusal']>;

/** What stands before the names of the fields: `config.` where they are a part of the body. */
export type Within = 'config.' | '';

/**
 * Judges the URL, the secret and the headers that somebody gives a hook, all before it complains.
 * @returns the URL as it is stored and dialed; undefined when none was given
 * @throws ApiError 422
 */
export function requireEndpoint(
  given: GivenToHook,
  policy: AddressPolicy,
  within: Within,
  onRefusal: (refusal: Refusal) => void,
): string | undefined {
  const { faults, refusal, url } = judgeHook(given, policy);
  if (refusal !== null) onRefusal(refusal);
  if (faults.length > 0) throw invalidFields(faults, within);
  return url;
}

/** Runs a wish for a hook; what is wrong with it becomes an answer. */
export async function askedOfHook<T>(within: Within, wish: () => Promise<T>): Promise<T> {
  try {
    return await wish();
  } catch (error) {
    throw error instanceof HookError ? hookFault(error, within) : error;
  }
}

function hookFault({ problem, message, faults }: HookError, within: Within): ApiError {
  switch (problem) {
    case 'unknown_hook':
      return notFound();
    case 'held_by_operator':
      return new ApiError({ status: 409, code: 'held_by_operator', message });
    case 'futile_filters':
      // No part of the config.
      return invalidFields(faults, '');
    case 'too_many_secrets':
      return invalidField('overlap_hours', 'too_many', message);
    case 'bad_hook':
    case 'headers_unreadable':
      return invalidFields(faults, within);
  }
}

function invalidFields(faults: readonly HookFault[], within: Within): ApiError {
  return validationFailed(faults.map((fault) => ({ ...fault, field: `${within}${fault.field}` })));
}
