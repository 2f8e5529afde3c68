import type { ClaimedProgress } from './fanout-consumer.js';

/** Longer than pages of several processes stand in line for one lane (50 ms each). */
const PATIENCE_MS = 2_000;
/** Where a page waited in vain a moment ago, the next may wait for the same: all four must not wait at once, and others stand behind them. */
const IMPATIENCE_MS = 250;
const IMPATIENT_FOR_MS = 15_000;
const FIRST_AGAIN_MS = 1_000;
const LONGEST_AGAIN_MS = 30_000;
/** Some end in another process, and nobody forgets them here. */
const MOST_KNOWN = 10_000;

/**
 * Repositories whose pages wait for somebody who holds what they need (the repository, a hook's lane) in a transaction that does not end,
 * by consumer: how long a page may wait for that, and when one of them is tried again.
 */
export class HeldUp {
  readonly #now: () => number;
  readonly #known = new Map<string, { times: number; until: number }>();
  #lastAt = Number.NEGATIVE_INFINITY;

  /** @param now - monotonic, in milliseconds */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** How long a page may wait for a lock now. */
  patienceMs(claimed: ClaimedProgress): number {
    const justNow = this.#now() - this.#lastAt < IMPATIENT_FOR_MS;
    return justNow || this.#known.has(keyOf(claimed)) ? IMPATIENCE_MS : PATIENCE_MS;
  }

  /** For how long it is not worth trying; 0 where it is. */
  againMs(claimed: ClaimedProgress): number {
    return Math.max(0, (this.#known.get(keyOf(claimed))?.until ?? 0) - this.#now());
  }

  /** Notes that a page waited in vain; tells how often in a row that was, and when to try again. */
  note(claimed: ClaimedProgress): { times: number; againMs: number } {
    const now = this.#now();
    this.#lastAt = now;
    const key = keyOf(claimed);
    const known = this.#known.get(key) ?? { times: 0, until: Number.NEGATIVE_INFINITY };
    // Those that were tried together count once.
    if (now < known.until) return { times: known.times, againMs: known.until - now };
    const times = known.times + 1;
    const againMs = Math.min(LONGEST_AGAIN_MS, FIRST_AGAIN_MS * 2 ** (times - 1));
    if (this.#known.size >= MOST_KNOWN) this.#known.clear();
    this.#known.set(key, { times, until: now + againMs });
    return { times, againMs };
  }

  /** A page of it ended some other way. */
  forget(claimed: ClaimedProgress): void {
    this.#known.delete(keyOf(claimed));
  }
}

function keyOf({ event, consumer }: ClaimedProgress): string {
  return `${event.repositoryId ?? event.id} ${consumer}`;
}
