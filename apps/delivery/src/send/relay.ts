import { relayPauseMs } from '../rules/relay-pause.js';

/** Mails go out again only so many at once while it is not known whether the relay works. */
const PROBES = 1;

export interface RelayOptions {
  /** Connections, and so mails at once, while all is well. */
  connections: number;
  pause: (reason: string, pauseMs: number) => Promise<void>;
  /** Monotonic clock in milliseconds. */
  monotonic: () => number;
}

/** What this process knows of the SMTP relay: its faults are nobody's job's, so it rests instead. */
export class Relay {
  readonly #options: RelayOptions;
  #failures = 0;
  #restsUntil = 0;

  constructor(options: RelayOptions) {
    this.#options = options;
  }

  /** How many mails may be in hand: one probe after a fault, until it gets through. */
  get capacity(): number {
    return this.#failures === 0 ? this.#options.connections : PROBES;
  }

  /** The pause that a fault now means. */
  get pauseMs(): number {
    const leftMs = this.#restsUntil - this.#options.monotonic();
    return leftMs > 0 ? leftMs : relayPauseMs(this.#failures + 1);
  }

  /** Notes a fault; the faults of one batch are one. */
  async rest(reason: string): Promise<void> {
    const now = this.#options.monotonic();
    if (now < this.#restsUntil) return;
    this.#failures += 1;
    const pauseMs = relayPauseMs(this.#failures);
    this.#restsUntil = now + pauseMs;
    await this.#options.pause(reason, pauseMs);
  }

  works(): void {
    this.#failures = 0;
    this.#restsUntil = 0;
  }
}
