import { setTimeout as delay } from 'node:timers/promises';

import type { Queue, Settled, Settlement } from '@ghost/queue';
import type { Logger } from 'pino';

import { isRefusedStatement } from './refused-statement.js';
import type { DatabaseState } from './database-state.js';
import type { Held } from './in-hand.js';

/** The first outcome waits so long for others; it is lost in the time that sending takes. */
const GATHER_MS = 5;
/** In one statement: 500 settle 5 to 10 times as many a second as 10 (measured). */
const BATCH = 500;
const FIRST_RETRY_MS = 100;
const LONGEST_RETRY_MS = 2_000;
const DAY_MS = 24 * 60 * 60_000;
/** Somebody reads the history, as a backup does for hours: there are days ahead, and each try holds up what waits to be written. */
const PREPARE_AGAIN_MS = 10 * 60_000;

export interface SettlerOptions {
  queue: Pick<Queue, 'settle' | 'release' | 'prepareHistory'>;
  database: DatabaseState;
  /** Wall clock in milliseconds. */
  now: () => number;
  log: Logger;
  /** Milliseconds that a statement took, and for how many outcomes. */
  onFlush?: (tookMs: number, outcomes: number) => void;
}

type Item =
  | { action: 'settle'; settlement: Settlement; done: (settled: Settled | null) => void }
  | { action: 'release'; held: Held; done: (settled: null) => void };

/** `given_up`: not written when the process ends. */
export type Written<T> =
  | { state: 'written'; value: T }
  | { state: 'refused' | 'given_up'; error: unknown };
type Settle = Extract<Item, { action: 'settle' }>;

/**
 * Writes outcomes in batches, one statement at a time. While the database cannot take them they are
 * kept and tried again: the fence decides whether they still count, however late, and one that was
 * written while its answer was lost counts as before. A batch with what no database would take is
 * split until the one bad outcome is alone; that one is written without its texts.
 */
export class Settler {
  readonly #options: SettlerOptions;
  #waiting: Item[] = [];
  #timer: NodeJS.Timeout | undefined;
  #flushing: Promise<void> | undefined;
  #preparedDay = 0;
  #prepareFailedAt = Number.NEGATIVE_INFINITY;
  #stuck = false;
  #whenUnstuck: (() => void)[] = [];
  #stopped = false;

  constructor(options: SettlerOptions) {
    this.#options = options;
  }

  /** Resolves when the outcome is written; null when its lease was lost and it did not count. */
  settle(settlement: Settlement): Promise<Settled | null> {
    return new Promise((done) => this.#add({ action: 'settle', settlement, done }));
  }

  /** Gives a job back, nothing charged. */
  async release(held: Held): Promise<void> {
    await new Promise<null>((done) => this.#add({ action: 'release', held, done }));
  }

  /** Writes what belongs to an outcome and must be there before it, as patiently as the outcome itself. */
  keep<T>(statement: () => Promise<T>): Promise<Written<T>> {
    return this.#whileAway(statement);
  }

  /** Waits while outcomes cannot be written: who claims more then only makes more of them wait. */
  async writable(): Promise<void> {
    if (!this.#stuck || this.#stopped) return;
    await new Promise<void>((resolve) => this.#whenUnstuck.push(resolve));
  }

  /** From now on each outcome is tried once: of what is not written the leases run out by themselves. */
  stop(): void {
    this.#stopped = true;
    this.#unstick();
  }

  #unstick(): void {
    this.#stuck = false;
    const waiting = this.#whenUnstuck;
    this.#whenUnstuck = [];
    for (const go of waiting) go();
  }

  #add(item: Item): void {
    this.#waiting.push(item);
    if (this.#flushing) return;
    if (this.#waiting.length >= BATCH) this.#flush();
    else this.#timer ??= setTimeout(() => this.#flush(), GATHER_MS);
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#flushing || this.#waiting.length === 0) return;
    const batch = this.#waiting.splice(0, BATCH);
    this.#flushing = this.#write(batch).finally(() => {
      this.#flushing = undefined;
      this.#flush();
    });
  }

  async #write(batch: readonly Item[]): Promise<void> {
    await this.#prepareDay();
    const settled = batch.filter((item) => item.action === 'settle');
    const released = batch.filter((item) => item.action === 'release');
    if (settled.length > 0) {
      const startedAt = performance.now();
      await this.#settleAll(settled);
      this.#options.onFlush?.(performance.now() - startedAt, settled.length);
    }
    if (released.length > 0) {
      await this.#release(released.map((item) => item.held));
      for (const item of released) item.done(null);
    }
  }

  async #settleAll(items: readonly Settle[]): Promise<void> {
    const { queue, log } = this.#options;
    const settlements = items.map((item) => item.settlement);
    const written = await this.#whileAway(() => queue.settle(settlements));
    if (written.state === 'given_up') {
      log.error({ event: 'delivery.settle_given_up', jobs: items.length, err: written.error });
      for (const item of items) item.done(null);
      return;
    }
    if (written.state === 'written') {
      const byLease = new Map(written.value.map((one) => [leaseKey(one), one]));
      for (const item of items) item.done(byLease.get(leaseKey(item.settlement)) ?? null);
      return;
    }
    const [only, ...others] = items;
    if (only && others.length === 0) {
      log.error({ event: 'delivery.settle_failed', jobId: only.settlement.id, err: written.error });
      only.done(await this.#settleBare(only.settlement));
      return;
    }
    const middle = Math.ceil(items.length / 2);
    await this.#settleAll(items.slice(0, middle));
    await this.#settleAll(items.slice(middle));
  }

  /** What a receiver answered must never decide whether a delivery counts. */
  async #settleBare(settlement: Settlement): Promise<Settled | null> {
    const { queue, log } = this.#options;
    const bare: Settlement = {
      ...settlement,
      attempt: settlement.attempt === null ? null : { startedAt: settlement.attempt.startedAt },
    };
    const written = await this.#whileAway(() => queue.settle([bare]));
    if (written.state === 'written') return written.value[0] ?? null;
    log.error({ event: 'delivery.settle_given_up', jobId: bare.id, err: written.error });
    return null;
  }

  async #release(held: readonly Held[]): Promise<void> {
    const { queue, log } = this.#options;
    const done = await this.#whileAway(() => queue.release(held.map((one) => one.claimed)));
    if (done.state !== 'written') {
      log.error({ event: 'delivery.release_failed', jobs: held.length, err: done.error });
    }
  }

  /** Tries again whatever happens, until it is written or refused for what it says. */
  async #whileAway<T>(statement: () => Promise<T>): Promise<Written<T>> {
    const { database } = this.#options;
    for (let waitMs = FIRST_RETRY_MS; ; waitMs = Math.min(LONGEST_RETRY_MS, waitMs * 2)) {
      try {
        const value = await statement();
        database.answered();
        if (this.#stuck) this.#unstick();
        return { state: 'written', value };
      } catch (error) {
        if (isRefusedStatement(error)) {
          // It was read, so the next can be written.
          if (this.#stuck) this.#unstick();
          return { state: 'refused', error };
        }
        if (this.#stopped) return { state: 'given_up', error };
        database.failed(error);
        this.#stuck = true;
        await delay(waitMs);
      }
    }
  }

  /** The first outcome of each UTC day makes room for the history of the days ahead. */
  async #prepareDay(): Promise<void> {
    const { queue, now, log } = this.#options;
    const at = now();
    const day = Math.floor(at / DAY_MS);
    // Either way: the clock may be set back.
    const justFailed = Math.abs(at - this.#prepareFailedAt) < PREPARE_AGAIN_MS;
    if (day === this.#preparedDay || justFailed) return;
    try {
      await queue.prepareHistory();
      this.#preparedDay = day;
    } catch (error) {
      this.#prepareFailedAt = at;
      // Without it rows go to the default partition: nothing fails.
      log.warn({ event: 'delivery.prepare_history_failed', err: error });
    }
  }
}

function leaseKey(lease: { id: string; leaseNo: number }): string {
  return `${lease.id} ${lease.leaseNo}`;
}
