import { InvalidArgumentError } from 'commander';

/** More than this is for a query, not for a terminal. */
export const MAX_LISTED = 1000;

/** Reads `--limit`. */
export function readLimit(text: string): number {
  const value = Number(text);
  if (/^\d+$/u.test(text) && value >= 1 && value <= MAX_LISTED) return value;
  throw new InvalidArgumentError(`It must be a whole number from 1 to ${MAX_LISTED}.`);
}
