/** How often it looks. In between nothing runs, and what runs asks nobody anything. */
const TICK_MS = 1_000;
/**
 * A process that was stopped for so long was frozen by its host, or the machine slept: what its peers and the
 * network kept of its connections may be gone. A busy event loop is late by less.
 */
const GAP_MS = 4_000;

export interface ClockGap {
  /** Milliseconds in which nothing ran. */
  gapMs: number;
  /** Milliseconds that the monotonic clock did not count: what is timed by it ends that much too late. */
  uncountedMs: number;
}

export interface ClockWatchOptions {
  onGap: (gap: ClockGap) => void;
  /** Wall clock in milliseconds: goes on while a machine sleeps. */
  now: () => number;
  /** Monotonic clock in milliseconds: goes on while a process is stopped. */
  monotonic: () => number;
  tickMs?: number;
  gapMs?: number;
}

/**
 * Notices that time went by in which the process did not run: a timer of its own that comes seconds late,
 * or a wall clock that jumped ahead of the monotonic one, which stands still in a machine that sleeps. A clock
 * that was merely set forward costs one needless reconnect.
 */
export class ClockWatch {
  readonly #options: ClockWatchOptions;
  readonly #tickMs: number;
  readonly #gapMs: number;
  #timer: NodeJS.Timeout | undefined;
  #wallAt = 0;
  #monotonicAt = 0;

  constructor(options: ClockWatchOptions) {
    this.#options = options;
    this.#tickMs = options.tickMs ?? TICK_MS;
    this.#gapMs = options.gapMs ?? GAP_MS;
  }

  start(): void {
    this.#mark();
    this.#timer = setInterval(() => this.look(), this.#tickMs).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Looks now; for whatever wakes the process before its timer does. */
  look(): void {
    if (this.#timer === undefined) return;
    const { now, monotonic, onGap } = this.#options;
    const countedMs = monotonic() - this.#monotonicAt;
    const passedMs = Math.max(countedMs, now() - this.#wallAt);
    this.#mark();
    const gapMs = Math.round(passedMs - this.#tickMs);
    if (gapMs >= this.#gapMs) onGap({ gapMs, uncountedMs: Math.round(passedMs - countedMs) });
  }

  #mark(): void {
    this.#wallAt = this.#options.now();
    this.#monotonicAt = this.#options.monotonic();
  }
}
