/** What has to be stopped or removed at an end, whichever it is: what was added last, first. */
export class Stops {
  readonly #stops: (() => unknown)[] = [];

  add(stop: () => unknown): void {
    this.#stops.unshift(stop);
  }

  /** Does all, also after one that fails; then throws the first failure. */
  async run(): Promise<void> {
    const failures: unknown[] = [];
    for (const stop of this.#stops.splice(0)) {
      try {
        await stop();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}

/** Gives what `make` gives, and in the end stops what it started, also when it throws. */
export async function* withStops<Row>(
  make: (stops: Stops) => AsyncGenerator<Row>,
): AsyncGenerator<Row> {
  const stops = new Stops();
  try {
    yield* make(stops);
  } finally {
    await stops.run();
  }
}
