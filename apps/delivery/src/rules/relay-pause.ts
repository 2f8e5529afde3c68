export interface RelayPauses {
  firstMs: number;
  longestMs: number;
}
export const RELAY_PAUSES: RelayPauses = { firstMs: 5_000, longestMs: 5 * 60_000 };

/** How long the relay rests after its n-th failure in a row (n ≥ 1): 5 s, doubled up to 5 min. */
export function relayPauseMs(failures: number, pauses: RelayPauses = RELAY_PAUSES): number {
  return Math.min(pauses.longestMs, pauses.firstMs * 2 ** (failures - 1));
}

/** The pauses one after the other, up to the longest, which all further ones have. */
export function relayPausesMs(pauses: RelayPauses = RELAY_PAUSES): number[] {
  const doublings = Math.max(0, Math.ceil(Math.log2(pauses.longestMs / pauses.firstMs)));
  return Array.from({ length: doublings + 1 }, (_, index) => relayPauseMs(index + 1, pauses));
}
