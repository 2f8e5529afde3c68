import { type RelayPauses, relayPauseMs } from '../rules/relay-pause.js';

/** Mails go out again only so many at once while it is not known whether the relay works. */
const PROBES = 1;
/** A timer may fire a little before the clock that it is compared with has come so far. */
const TIMER_EARLY_MS = 5;

export interface RelayOptions {
  /** Connections, and so mails at once, while all is well. */
  connections: number;
  pause: (reason: string, pauseMs: number) => Promise<void>;
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

/** What this process knows of the SMTP relay: its faults are nobody's job's, so it rests instead. */
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

  /** Notes a fault; the faults of one batch are one. What could not be stored is at the next fault. */
  async rest(reason: string): Promise<void> {
    const { monotonic, pause } = this.#options;
    const now = monotonic();
    if (now >= this.#restsUntil) this.#begin(now, reason);
    if (this.#stored) return;
    this.#stored = true;
    try {
      await pause(reason, Math.round(this.#restsUntil - now));
    } catch (error) {
      this.#stored = false;
      throw error;
    }
  }

  works(): void {
    if (this.#failures > 0) this.#options.onWorks?.(this.#failures);
    this.#failures = 0;
    this.#restsUntil = 0;
    this.#stored = true;
    clearTimeout(this.#rested);
  }

  #begin(now: number, reason: string): void {
    this.#failures += 1;
    const pauseMs = relayPauseMs(this.#failures, this.#options.pauses);
    this.#options.onRest?.(reason, pauseMs, this.#failures);
    this.#restsUntil = now + pauseMs;
    this.#stored = false;
    clearTimeout(this.#rested);
    this.#rested = setTimeout(() => this.#options.onRested?.(), pauseMs + TIMER_EARLY_MS);
    this.#rested.unref();
  }
}
