import type { InHand } from './in-hand.js';

/**
 * What every claim of a process passes, so that one can be made alone: a job that workers died of is run
 * with nothing beside it that would die too, or with little where something is always in hand.
 */
export class ClaimGate {
  readonly #inHand: InHand;
  #claims = 0;
  #closed = false;
  #stopped = false;
  /** The last time the hand did not get empty. */
  #crowded = false;
  #changed: (() => void)[] = [];

  constructor(inHand: InHand) {
    this.#inHand = inHand;
    inHand.onChange(() => {
      if (this.#closed) this.#tell();
    });
  }

  /** Runs a claim once no other one runs alone; `claim` takes in hand what it brings before it resolves. */
  async pass<T>(claim: () => Promise<T>): Promise<T> {
    // No turn of the loop between the look and the count: the gate could close in it.
    while (this.#closed && !this.#stopped) await this.#until(() => !this.#closed);
    this.#claims += 1;
    try {
      return await claim();
    } finally {
      this.#claims -= 1;
      this.#tell();
    }
  }

  /**
   * Lets nobody claim, waits for the hand to be empty, runs `claim` and waits for what it brought to be settled. Where the hand did
   * not get empty the last time either, it waits only for what is quick, and runs `claim` beside the rest.
   * @param waits - for the hand, which one slow destination must not make long for all others
   * @param claim - is told how many jobs are beside it
   * @returns false when the hand was not empty in time, or another one runs alone
   */
  async alone(
    waits: { withinMs: number; crowdedMs: number },
    claim: (beside: number) => Promise<void>,
  ): Promise<boolean> {
    if (this.#closed) return false;
    this.#closed = true;
    const empty = () => this.#claims === 0 && this.#inHand.size === 0;
    try {
      const crowded = this.#crowded;
      await this.#until(empty, crowded ? waits.crowdedMs : waits.withinMs);
      this.#crowded = !empty();
      if (this.#stopped || this.#claims > 0 || (this.#crowded && !crowded)) return false;
      const beside = new Set(this.#inHand.all());
      await claim(beside.size);
      // It may stand behind those others for a relay's turn, and is not alone anyway.
      const withinMs = this.#crowded ? waits.withinMs : undefined;
      await this.#until(() => this.#inHand.all().every((held) => beside.has(held)), withinMs);
      return true;
    } finally {
      this.#closed = false;
      this.#tell();
    }
  }

  /** Nobody waits any longer: the process ends. */
  stop(): void {
    this.#stopped = true;
    this.#tell();
  }

  #until(reached: () => boolean, withinMs?: number): Promise<void> {
    const over = () => this.#stopped || reached();
    if (over()) return Promise.resolve();
    return new Promise((resolve) => {
      let timer: NodeJS.Timeout | undefined;
      const finish = () => {
        clearTimeout(timer);
        this.#changed = this.#changed.filter((one) => one !== look);
        resolve();
      };
      const look = () => {
        if (over()) finish();
      };
      if (withinMs !== undefined) timer = setTimeout(finish, withinMs);
      this.#changed.push(look);
    });
  }

  #tell(): void {
    for (const look of [...this.#changed]) look();
  }
}
