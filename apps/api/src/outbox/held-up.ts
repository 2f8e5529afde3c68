import type { ClaimedProgress } from './fanout-consumer.js';

/** Longer than pages of several processes stand in line for one lane (50 ms each). */
const PATIENCE_MS = 2_000;
/** Where a page waited in vain a moment ago, the next may wait for the same: all four must not wait at once, and others stand behind them. */
const IMPATIENCE_MS = 250;
const IMPATIENT_FOR_MS = 15_000;
const FIRST_AGAIN_MS = 1_000;
const LONGEST_AGAIN_MS = 60_000;
/** Some end in another process, and nobody forgets them here. */
const MOST_KNOWN = 10_000;

/**
 * What waits for somebody who holds what its page needs (a repository, a hook's lane) in a transaction that does not end: how long a page
 * may wait for that, and when it is tried again.
 */
export class HeldUp {
  readonly #now: () => number;
  /** How often in a row, by event and consumer. */
  readonly #times = new Map<string, number>();
  #lastAt = Number.NEGATIVE_INFINITY;

  /** @param now - monotonic, in milliseconds */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** How long a page may wait for a lock now. */
  get patienceMs(): number {
    return this.#now() - this.#lastAt < IMPATIENT_FOR_MS ? IMPATIENCE_MS : PATIENCE_MS;
  }

  /** Notes that a page waited in vain; tells how often in a row, and when to try it again. */
  note(claimed: ClaimedProgress): { times: number; againMs: number } {
    this.#lastAt = this.#now();
    const key = keyOf(claimed);
    const times = (this.#times.get(key) ?? 0) + 1;
    if (this.#times.size >= MOST_KNOWN) this.#times.clear();
    this.#times.set(key, times);
    return { times, againMs: Math.min(LONGEST_AGAIN_MS, FIRST_AGAIN_MS * 2 ** (times - 1)) };
  }

  /** It ended some other way. */
  forget(claimed: ClaimedProgress): void {
    this.#times.delete(keyOf(claimed));
  }
}

function keyOf({ event, consumer }: ClaimedProgress): string {
  return `${event.id} ${consumer}`;
}
