import { setTimeout as delay } from 'node:timers/promises';

import { LanesLockedError, type Queue, type Settled, type Settlement } from '@ghost/queue';
import type { Logger } from 'pino';

import { isRefusedStatement } from './refused-statement.js';
import type { DatabaseState } from './database-state.js';
import type { Held } from './in-hand.js';

/** The first outcome waits so long for others; it is lost in the time that sending takes. */
const GATHER_MS = 5;
/** In one statement: 500 settle 5 to 10 times as many a second as 10 (measured). */
const BATCH = 500;
/** Behind a statement without an answer, that is sent and would be sent again after a crash; 0.4 s at full load. */
const MOST_WAITING = 2_000;
const FIRST_RETRY_MS = 100;
const LONGEST_RETRY_MS = 2_000;
/** Of a lane that somebody holds, beside what is written of others. */
const LOCKED_AGAIN_MS = 500;
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
  | { state: 'refused' | 'given_up'; error: unknown }
  | { state: 'locked'; error: LanesLockedError };
type Settle = Extract<Item, { action: 'settle' }>;
type Release = Extract<Item, { action: 'release' }>;

/**
 * Writes outcomes in batches, one statement at a time. While the database cannot take them they are
 * kept and tried again: the fence decides whether they still count, however late, and one that was
 * written while its answer was lost counts as before. A batch with what no database would take is
 * split until the one bad outcome is alone; that one is written without its texts. What goes to a lane that somebody holds
 * is set aside: the others do not wait for it.
 */
export class Settler {
  readonly #options: SettlerOptions;
  #waiting: Item[] = [];
  #timer: NodeJS.Timeout | undefined;
  #flushing: Promise<void> | undefined;
  #preparedDay = 0;
  #prepareFailedAt = Number.NEGATIVE_INFINITY;
  #aside: Item[] = [];
  /** What was set aside, and is tried just now. */
  #again: Item[] = [];
  #asideTimer: NodeJS.Timeout | undefined;
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

  /** Waits while outcomes cannot be written, or many wait: who claims more then only makes more of them wait. */
  async writable(): Promise<void> {
    while (!this.#stopped && (this.#stuck || this.#waiting.length >= MOST_WAITING)) {
      await new Promise<void>((resolve) => this.#whenUnstuck.push(resolve));
    }
  }

  /** From now on each outcome is tried once: of what is not written the leases run out by themselves. */
  stop(): void {
    this.#stopped = true;
    this.#unstick();
    void this.#tryAside();
  }

  #unstick(): void {
    this.#stuck = false;
    this.#goOn();
  }

  #goOn(): void {
    const waiting = this.#whenUnstuck;
    this.#whenUnstuck = [];
    for (const look of waiting) look();
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
    this.#goOn();
    this.#flushing = this.#write(batch).finally(() => {
      this.#flushing = undefined;
      this.#flush();
    });
  }

  async #write(batch: readonly Item[]): Promise<void> {
    await this.#prepareDay();
    const held = new Set([...this.#aside, ...this.#again].map(laneOf));
    await this.#writeAll(held.size === 0 ? batch : this.#without(held, batch));
  }

  async #writeAll(batch: readonly Item[]): Promise<void> {
    const settled = batch.filter((item) => item.action === 'settle');
    const released = batch.filter((item) => item.action === 'release');
    if (settled.length > 0) {
      const startedAt = performance.now();
      await this.#settleAll(settled);
      this.#options.onFlush?.(performance.now() - startedAt, settled.length);
    }
    if (released.length > 0) await this.#releaseAll(released);
  }

  /** Sets aside what is of lanes that somebody holds; returns the rest. */
  #without<T extends Item>(lanes: ReadonlySet<string>, items: readonly T[]): T[] {
    const held = items.filter((item) => lanes.has(laneOf(item)));
    if (held.length > 0) this.#setAside(held);
    return items.filter((item) => !lanes.has(laneOf(item)));
  }

  #setAside(items: readonly Item[]): void {
    this.#options.log.warn({ event: 'delivery.lanes_locked', jobs: items.length });
    if (this.#stopped) return items.forEach((item) => item.done(null));
    this.#aside.push(...items);
    this.#asideTimer ??= setTimeout(() => void this.#tryAside(), LOCKED_AGAIN_MS);
  }

  /** Beside the other statements, as it waits for the lock again. */
  async #tryAside(): Promise<void> {
    clearTimeout(this.#asideTimer);
    if (this.#again.length > 0) return;
    const tried = this.#aside.splice(0, BATCH);
    this.#again = tried;
    await this.#writeAll(tried);
    this.#again = [];
    this.#freeLanesOf(tried);
    const more = this.#aside.length > 0;
    this.#asideTimer = more
      ? setTimeout(() => void this.#tryAside(), this.#stopped ? 0 : LOCKED_AGAIN_MS)
      : undefined;
  }

  /** What came meanwhile for lanes that are held no more goes the ordinary way again. */
  #freeLanesOf(tried: readonly Item[]): void {
    const again = new Set(tried);
    const held = new Set(this.#aside.filter((item) => again.has(item)).map(laneOf));
    const free = new Set(tried.map(laneOf).filter((lane) => !held.has(lane)));
    const came = this.#aside.filter((item) => free.has(laneOf(item)));
    this.#aside = this.#aside.filter((item) => !free.has(laneOf(item)));
    for (const item of came) this.#add(item);
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
    if (written.state === 'locked') {
      await this.#besideLocked(written.error, items, (rest) => this.#settleAll(rest));
      return;
    }
    const [only, ...others] = items;
    if (only && others.length === 0) {
      log.error({ event: 'delivery.settle_failed', jobId: only.settlement.id, err: written.error });
      await this.#settleBare(only);
      return;
    }
    const middle = Math.ceil(items.length / 2);
    await this.#settleAll(items.slice(0, middle));
    await this.#settleAll(items.slice(middle));
  }

  /** Goes on with what is of other lanes; where it was a job that is held, and not its lane, by halves. */
  async #besideLocked<T extends Item>(
    { lanes }: LanesLockedError,
    items: readonly T[],
    write: (items: readonly T[]) => Promise<void>,
  ): Promise<void> {
    const rest = this.#without(lanes, items);
    if (rest.length < items.length) {
      if (rest.length > 0) await write(rest);
    } else if (items.length === 1) {
      this.#setAside(items);
    } else {
      const middle = Math.ceil(items.length / 2);
      await write(items.slice(0, middle));
      await write(items.slice(middle));
    }
  }

  /** What a receiver answered must never decide whether a delivery counts. */
  async #settleBare(item: Settle): Promise<void> {
    const { queue, log } = this.#options;
    const { attempt, ...settlement } = item.settlement;
    const bare: Settlement = {
      ...settlement,
      attempt: attempt === null ? null : { startedAt: attempt.startedAt },
    };
    const written = await this.#whileAway(() => queue.settle([bare]));
    if (written.state === 'written') return item.done(written.value[0] ?? null);
    if (written.state === 'locked') return this.#setAside([item]);
    log.error({ event: 'delivery.settle_given_up', jobId: bare.id, err: written.error });
    item.done(null);
  }

  async #releaseAll(items: readonly Release[]): Promise<void> {
    const { queue, log } = this.#options;
    const leases = items.map(({ held }) => held.claimed);
    const done = await this.#whileAway(() => queue.release(leases));
    if (done.state === 'locked') {
      await this.#besideLocked(done.error, items, (rest) => this.#releaseAll(rest));
      return;
    }
    if (done.state !== 'written') {
      log.error({ event: 'delivery.release_failed', jobs: items.length, err: done.error });
    }
    for (const item of items) item.done(null);
  }

  /** Tries again whatever happens, until it is written, refused for what it says, or waits for who holds a lane. */
  async #whileAway<T>(statement: () => Promise<T>): Promise<Written<T>> {
    const { database } = this.#options;
    for (let waitMs = FIRST_RETRY_MS; ; waitMs = Math.min(LONGEST_RETRY_MS, waitMs * 2)) {
      try {
        const value = await statement();
        database.answered();
        if (this.#stuck) this.#unstick();
        return { state: 'written', value };
      } catch (error) {
        const locked = error instanceof LanesLockedError;
        if (locked || isRefusedStatement(error)) {
          // It was read, so the next can be written.
          if (this.#stuck) this.#unstick();
          return locked ? { state: 'locked', error } : { state: 'refused', error };
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

function laneOf(item: Item): string {
  return item.action === 'settle' ? item.settlement.lane : item.held.claimed.lane;
}

function leaseKey(lease: { id: string; leaseNo: number }): string {
  return `${lease.id} ${lease.leaseNo}`;
}
