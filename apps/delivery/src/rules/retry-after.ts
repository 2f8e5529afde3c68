/** Longer wishes are cut: a receiver must not park a lane for longer than a day. */
export const LONGEST_RETRY_AFTER_MS = 24 * 60 * 60 * 1000;

const SECONDS = /^\d{1,10}$/u;
// IMF-fixdate alone (RFC 9110 §5.6.7); Date.parse by itself would read "2" or "soon 1" as a date.
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/u;

/**
 * Reads a `Retry-After` field (RFC 9110 §10.2.3): seconds or an HTTP date, bounded to a day.
 * Garbage and dates that have passed are undefined: the back-off alone decides then.
 */
export function retryAfterMs(value: string | undefined, nowMs: number): number | undefined {
  const text = value?.trim() ?? '';
  const waitMs = SECONDS.test(text)
    ? Number(text) * 1000
    : HTTP_DATE.test(text)
      ? Date.parse(text) - nowMs
      : Number.NaN;
  if (!(waitMs > 0)) return undefined;
  return Math.min(waitMs, LONGEST_RETRY_AFTER_MS);
}
