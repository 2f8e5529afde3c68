import { databaseErrorCode } from '@ghost/db';
import { toStorableText } from '@ghost/contract';
import { DrizzleQueryError } from 'drizzle-orm';

const LONGEST_DESCRIPTION = 300;
const FRAMES_KEPT = 8;

export interface DescribedError {
  /** One line: class, SQLSTATE or code where there is one, message. */
  error: string;
  /** Where it came from; for the log. */
  frames: string[];
}

/**
 * An error as it may be logged and stored. Drizzle's own message holds the statement and all its
 * parameters, comments and addresses among them: there the cause speaks.
 */
export function describeError(thrown: unknown): DescribedError {
  const error = withoutParameters(thrown);
  if (!(error instanceof Error))
    return { error: 'a value that is no Error was thrown', frames: [] };
  const code = databaseErrorCode(error);
  const text = `${error.name}${code === undefined ? '' : ` ${code}`}: ${error.message}`;
  return {
    error: toStorableText(
      [...text.replaceAll(/\s+/gu, ' ')].slice(0, LONGEST_DESCRIPTION).join(''),
    ),
    frames: (error.stack ?? '')
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line.startsWith('at '))
      .slice(0, FRAMES_KEPT),
  };
}

function withoutParameters(thrown: unknown): unknown {
  return thrown instanceof DrizzleQueryError ? thrown.cause : thrown;
}
