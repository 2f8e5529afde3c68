import { databaseErrorCode } from '@ghost/db';
import { ReplayError } from '@ghost/operations';

import { ApiError, invalidField, notFound } from '../../http/api-error.js';

/** query_canceled: it took longer than a statement may. */
const TOO_LONG = '57014';

/** Runs a wish for a replay; what is wrong with it becomes an answer. */
export async function askedOfReplay<T>(wish: () => Promise<T>): Promise<T> {
  try {
    return await wish();
  } catch (error) {
    throw error instanceof ReplayError ? replayFault(error) : error;
  }
}

/** Runs what counts or writes the set of a replay: that it takes too long is the asker's to mend. */
export async function countedInTime<T>(count: () => Promise<T>): Promise<T> {
  try {
    return await count();
  } catch (error) {
    if (databaseErrorCode(error) !== TOO_LONG) throw error;
    throw invalidField(
      'since',
      'too_many',
      'These are more deliveries than can be counted in one request: choose a shorter time.',
    );
  }
}

function replayFault({ problem, message }: ReplayError): ApiError {
  switch (problem) {
    case 'since_in_future':
      return invalidField('since', 'in_future', message);
    case 'since_too_old':
      return invalidField('since', 'too_old', message);
    case 'until_in_future':
      return invalidField('until', 'in_future', message);
    case 'until_before_since':
      return invalidField('until', 'before_since', message);
    case 'unknown_replay':
      return notFound();
    case 'hook_inactive':
      return new ApiError({ status: 409, code: 'hook_inactive', message });
    case 'already_replaying':
      return new ApiError({ status: 409, code: 'already_replaying', message });
    case 'total_differs':
      return new ApiError({ status: 409, code: 'total_differs', message });
    case 'nothing_left_to_cancel':
      return new ApiError({ status: 409, code: 'nothing_left_to_cancel', message });
  }
}
