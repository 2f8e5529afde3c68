import type { Logger } from 'pino';

/** Whether the database answers, as far as the last statement told. */
export class DatabaseState {
  readonly #log: Logger;
  readonly #monotonic: () => number;
  #downSince: number | undefined;
  #answeredAt = Number.NEGATIVE_INFINITY;

  constructor(log: Logger, monotonic: () => number) {
    this.#log = log;
    this.#monotonic = monotonic;
  }

  get up(): boolean {
    return this.#downSince === undefined;
  }

  /** Milliseconds since it last answered. */
  get silentMs(): number {
    return this.#monotonic() - this.#answeredAt;
  }

  answered(): void {
    this.#answeredAt = this.#monotonic();
    if (this.#downSince === undefined) return;
    const downMs = Math.round(this.#answeredAt - this.#downSince);
    this.#downSince = undefined;
    this.#log.info({ event: 'database.back', downMs });
  }

  /** Said once an outage, not once a statement. */
  failed(error: unknown): void {
    if (this.#downSince !== undefined) return;
    this.#downSince = this.#monotonic();
    this.#log.error({ event: 'database.down', err: error });
  }
}
