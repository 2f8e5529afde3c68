import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import type { Queue } from '@ghost/queue';

/** Turns are taken so far ahead, in one statement: what a worker that dies loses of them. */
const BATCH_MS = 1_000;
/** A turn that is so late, as the process did not run, may be another worker's time by now: it is lost. */
const LATEST_MS = 250;

export interface RelayRateOptions {
  /** At most `messages` in each `perMs`, over all workers. */
  rate: { messages: number; perMs: number };
  queue: Pick<Queue, 'takeRelayTurns'>;
  /** Monotonic clock in milliseconds. */
  monotonic: () => number;
}

interface Waiter {
  go: () => void;
  fail: (error: Error) => void;
}

/**
 * Spaces mails evenly over all workers, so that the relay never sees more than its rate. The turns are the database's: a batch of
 * them is taken for the mails that wait, so none are asked for while no mail does.
 */
export class RelayRate {
  readonly #options: RelayRateOptions;
  readonly #everyMs: number;
  /** In the order in which they came. */
  readonly #waiters = new Set<Waiter>();
  #running = false;

  constructor(options: RelayRateOptions) {
    this.#options = options;
    this.#everyMs = options.rate.perMs / options.rate.messages;
  }

  /**
   * Resolves when it is a mail's turn, or when it need not go any more.
   * @throws what kept the turns from being taken
   */
  turn(stop: AbortSignal): Promise<void> {
    if (stop.aborted) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#waiters.delete(waiter);
        stop.removeEventListener('abort', waiter.go);
      };
      const waiter: Waiter = {
        go: () => {
          leave();
          resolve();
        },
        fail: (error) => {
          leave();
          reject(error);
        },
      };
      stop.addEventListener('abort', waiter.go, { once: true });
      this.#waiters.add(waiter);
      if (!this.#running) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#running = true;
    try {
      // The mails of one claim come one after the other.
      await nextTurn();
      while (this.#waiters.size > 0) await this.#batch();
    } catch (error) {
      const fault = error instanceof Error ? error : new Error(String(error));
      for (const waiter of this.#waiters) waiter.fail(fault);
    } finally {
      this.#running = false;
    }
  }

  /** Takes turns for those who wait, as far ahead as that goes, and lets them go one by one. */
  async #batch(): Promise<void> {
    const { queue, monotonic } = this.#options;
    const batchMs = Math.max(BATCH_MS, this.#everyMs);
    const turns = Math.min(this.#waiters.size, Math.floor(batchMs / this.#everyMs));
    const askedAt = monotonic();
    const inMs = await queue.takeRelayTurns(turns, this.#everyMs, batchMs);
    // The process stood still meanwhile: by now these are other workers' times.
    if (monotonic() - askedAt > batchMs) return;
    const firstAt = monotonic() + inMs;
    for (let n = 0; n < turns; n += 1) {
      const at = firstAt + n * this.#everyMs;
      const leftMs = at - monotonic();
      if (leftMs > 0) await delay(leftMs, undefined, { ref: false });
      if (monotonic() - at > LATEST_MS) return;
      const [first] = this.#waiters;
      first?.go();
    }
  }
}
