import { readWholeNumber } from './read-whole-number.js';

/** More than this is for a query, not for a terminal. */
export const MAX_LISTED = 1000;

/** Reads `--limit`. */
export function readLimit(text: string): number {
  return readWholeNumber(text, 1, MAX_LISTED);
}
