import { CommandError } from './command-error.js';
import { readSpanMs, readTime } from './read-expiry.js';

/**
 * Reads a moment of the past: a span before now, or a time.
 * @param option - for messages: `--since`
 * @throws CommandError for anything else
 */
export function readMoment(option: string, text: string, now: Date): Date {
  const spanMs = readSpanMs(text);
  const moment = spanMs === undefined ? readTime(text) : new Date(now.getTime() - spanMs);
  if (moment !== undefined) return moment;
  throw new CommandError(
    `${option} ${JSON.stringify(text)} is no time: use 12h or 3d (ago), 2027-01-31 or 2027-01-31T18:00Z.`,
  );
}
