const FIRST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 5 * 60_000;

/** How long the relay rests after its n-th failure in a row (n ≥ 1): 5 s, doubled up to 5 min. */
export function relayPauseMs(failures: number): number {
  return Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (failures - 1));
}
