import { InvalidArgumentError } from 'commander';

/**
 * Reads a whole number within its bounds, of an option.
 * @param more - what the complaint says behind the bounds
 */
export function readWholeNumber(text: string, least: number, most: number, more = ''): number {
  const value = Number(text);
  if (/^\d+$/u.test(text) && value >= least && value <= most) return value;
  throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}${more}.`);
}
