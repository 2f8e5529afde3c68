import { CommandError } from './command-error.js';

const HOUR_MS = 3_600_000;
const SPAN = /^(?<count>[1-9]\d{0,5})(?<unit>[hd])$/u;
// RFC 3339: a date (its first moment in UTC), or a time with its zone.
const TIME =
  /^(?<date>\d{4}-\d{2}-\d{2})(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2}))?$/u;

/**
 * Reads when a token ends: a span from now, or a time.
 * @throws CommandError for anything else, and for a time that is over
 */
export function readExpiry(text: string, now: Date): Date {
  const spanMs = readSpanMs(text);
  const end = spanMs === undefined ? readTime(text) : new Date(now.getTime() + spanMs);
  if (end === undefined) {
    throw new CommandError(
      `--expires ${JSON.stringify(text)} is no time: use 90d, 12h, 2027-01-31 or 2027-01-31T18:00Z.`,
    );
  }
  if (end <= now) {
    throw new CommandError(`--expires ${text} is not in the future (${end.toISOString()}).`);
  }
  return end;
}

/** `90d` or `12h` in milliseconds. */
export function readSpanMs(text: string): number | undefined {
  const groups = SPAN.exec(text)?.groups;
  if (!groups) return undefined;
  return Number(groups['count']) * (groups['unit'] === 'd' ? 24 : 1) * HOUR_MS;
}

/** A date, or a time with its zone; undefined: it is neither. */
export function readTime(text: string): Date | undefined {
  const date = TIME.exec(text)?.groups?.['date'];
  // JavaScript reads 2027-02-30 as a day of March.
  if (date === undefined || !isDay(date)) return undefined;
  const time = new Date(text);
  return Number.isNaN(time.getTime()) ? undefined : time;
}

function isDay(date: string): boolean {
  const time = new Date(`${date}T00:00:00Z`);
  return !Number.isNaN(time.getTime()) && time.toISOString().startsWith(date);
}
