/** Longer wishes are cut: a receiver must not park a lane for longer than a day. */
export const LONGEST_RETRY_AFTER_MS = 24 * 60 * 60 * 1000;

/** However many: more than any number holds is a wish for long, and cut. */
const SECONDS = /^\d+$/u;
const TIME = String.raw`\d{2}:\d{2}:\d{2}`;
// The three forms of RFC 9110 §5.6.7; Date.parse by itself would read "2" or "soon 1" as a date.
const HTTP_DATES = [
  new RegExp(String.raw`^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} ${TIME} GMT$`, 'u'),
  new RegExp(String.raw`^[A-Z][a-z]{5,8}, \d{2}-[A-Z][a-z]{2}-\d{2} ${TIME} GMT$`, 'u'),
];
/** C's asctime, which names no zone and means GMT. */
const ASCTIME = new RegExp(String.raw`^[A-Z][a-z]{2} [A-Z][a-z]{2} [\d ]\d ${TIME} \d{4}$`, 'u');

/**
 * Reads a `Retry-After` field (RFC 9110 §10.2.3): seconds or an HTTP date, bounded to a day.
 * Garbage and dates that have passed are undefined: the back-off alone decides then.
 */
export function retryAfterMs(value: string | undefined, nowMs: number): number | undefined {
  const text = value?.trim() ?? '';
  const waitMs = SECONDS.test(text) ? Number(text) * 1000 : dateOf(text) - nowMs;
  if (!(waitMs > 0)) return undefined;
  return Math.min(waitMs, LONGEST_RETRY_AFTER_MS);
}

function dateOf(text: string): number {
  if (HTTP_DATES.some((form) => form.test(text))) return Date.parse(text);
  return ASCTIME.test(text) ? Date.parse(`${text} GMT`) : Number.NaN;
}
