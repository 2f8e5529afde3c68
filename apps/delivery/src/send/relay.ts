import type { RelayRest } from '@ghost/queue';

import { type RelayPauses, relayPauseMs } from '../rules/relay-pause.js';

/** Mails go out again only so many at once while it is not known whether the relay works. */
const PROBES = 1;
/** A timer may fire a little before the clock that it is compared with has come so far. */
const TIMER_EARLY_MS = 5;

export interface RelayOptions {
  /** Connections, and so mails at once, while all is well. */
  connections: number;
  /** Lets all workers rest; tells for how long, as another one may have met the fault first. */
  pause: (reason: string) => Promise<RelayRest>;
  pauses?: RelayPauses | undefined;
  /** Monotonic clock in milliseconds. */
  monotonic: () => number;
  /** A rest is over: there is room for a probe again. */
  onRested?: () => void;
  /** A rest begins, after so many failures in a row. */
  onRest?: (reason: string, pauseMs: number, failures: number) => void;
  /** It answers again after so many failures. */
  onWorks?: (failures: number) => void;
}

/** What this process knows of the SMTP relay: its faults are nobody's job's, so it rests instead. How long, all workers' faults tell. */
export class Relay {
  readonly #options: RelayOptions;
  #failures = 0;
  #restsUntil = 0;
  /** Whether the other workers were told of this rest. */
  #stored = true;
  #rested: NodeJS.Timeout | undefined;

  constructor(options: RelayOptions) {
    this.#options = options;
  }

  /** How many mails may be in hand: none while it rests, then one probe until it gets through. */
  get capacity(): number {
    if (this.#failures === 0) return this.#options.connections;
    return this.rests ? 0 : PROBES;
  }

  get rests(): boolean {
    return this.#options.monotonic() < this.#restsUntil;
  }

  /** The pause that a fault now means. */
  get pauseMs(): number {
    const leftMs = this.#restsUntil - this.#options.monotonic();
    return leftMs > 0 ? leftMs : relayPauseMs(this.#failures + 1, this.#options.pauses);
  }

  /**
   * Notes a fault; the faults of one batch are one, and so are those of all workers in one rest. What could not be stored is
   * at the next fault.
   */
  async rest(reason: string): Promise<void> {
    const begins = !this.rests;
    const failures = this.#failures + 1;
    let rest = { failures, pauseMs: relayPauseMs(failures, this.#options.pauses) };
    if (begins) {
      this.#begin(rest);
      this.#stored = false;
    }
    if (this.#stored) return;
    this.#stored = true;
    try {
      rest = await this.#options.pause(reason);
      // Unless it answered meanwhile.
      if (this.#failures > 0) this.#begin(rest);
    } catch (error) {
      this.#stored = false;
      throw error;
    } finally {
      if (begins) this.#options.onRest?.(reason, Math.round(rest.pauseMs), rest.failures);
    }
  }

  works(): void {
    if (this.#failures > 0) this.#options.onWorks?.(this.#failures);
    this.#failures = 0;
    this.#restsUntil = 0;
    this.#stored = true;
    clearTimeout(this.#rested);
  }

  #begin({ failures, pauseMs }: RelayRest): void {
    this.#failures = failures;
    this.#restsUntil = this.#options.monotonic() + pauseMs;
    clearTimeout(this.#rested);
    this.#rested = setTimeout(() => this.#options.onRested?.(), pauseMs + TIMER_EARLY_MS);
    this.#rested.unref();
  }
}
