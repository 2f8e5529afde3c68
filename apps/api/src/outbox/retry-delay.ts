const RETRY_FACTOR = 5;
/** Also the longest that an operator waits to see a mended consumer work by itself. */
const LONGEST_RETRY_MS = 15 * 60_000;

/**
 * How long a failed event waits: base, ×5 at each failure, at most 15 minutes; half of it fixed and
 * half random, so that events that failed together do not come back together.
 * @param attempts starts since the last progress, from 1
 * @param random in [0, 1)
 */
export function retryDelay(attempts: number, baseMs: number, random: number): number {
  const longest = Math.min(LONGEST_RETRY_MS, baseMs * RETRY_FACTOR ** (Math.max(attempts, 1) - 1));
  return longest / 2 + (longest / 2) * random;
}
