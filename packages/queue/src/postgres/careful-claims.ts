import { isLockTimeout } from '@ghost/db';

/** A lane that was set aside for a job that somebody holds is due again before that (10 s, migration 0020). */
const CAREFUL_MS = 30_000;

/**
 * Makes claims wait for no job that somebody holds, for a while after one did. A careful claim locks each job that it may take once more,
 * so the others are not.
 *
 * @param now - monotonic, in milliseconds
 */
export function carefulClaims(
  now: () => number,
): <C extends { held: readonly string[] }>(claim: (careful: boolean) => Promise<C>) => Promise<C> {
  let carefulUntil = Number.NEGATIVE_INFINITY;
  return async (claim) => {
    const careful = now() < carefulUntil;
    try {
      const claimed = await claim(careful);
      if (claimed.held.length > 0) carefulUntil = now() + CAREFUL_MS;
      return claimed;
    } catch (error) {
      if (careful || !isLockTimeout(error)) throw error;
      carefulUntil = now() + CAREFUL_MS;
      return claim(true);
    }
  };
}
