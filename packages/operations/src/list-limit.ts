const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 1000;

/** How many rows a list reads: 1 to 1,000, and 50 where nobody says. */
export function listLimit(wanted = DEFAULT_LIMIT): number {
  return Math.min(Math.max(Math.trunc(wanted), 1), MAX_LIMIT);
}
