/** Where exponential back-off starts and what it never exceeds. */
export interface Backoff {
  baseMs: number;
  capMs: number;
}

/**
 * How long to wait after the n-th charged try (n ≥ 1): full jitter, `random(0, min(cap, base·2^(n-1)))`.
 * Source: "Exponential Backoff And Jitter" (AWS Architecture Blog): of its schemes the one with the
 * least competing work. `random` returns a number in [0, 1).
 */
export function retryDelayMs(tries: number, backoff: Backoff, random: () => number): number {
  const ceilingMs = Math.min(backoff.capMs, backoff.baseMs * 2 ** (tries - 1));
  return Math.floor(random() * ceilingMs);
}
