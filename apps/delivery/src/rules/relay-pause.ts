export interface RelayPauses {
  firstMs: number;
  longestMs: number;
}
export const RELAY_PAUSES: RelayPauses = { firstMs: 5_000, longestMs: 5 * 60_000 };

/** How long the relay rests after its n-th failure in a row (n ≥ 1): 5 s, doubled up to 5 min. */
export function relayPauseMs(failures: number, pauses: RelayPauses = RELAY_PAUSES): number {
  return Math.min(pauses.longestMs, pauses.firstMs * 2 ** (failures - 1));
}
