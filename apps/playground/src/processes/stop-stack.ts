/** What was started and must be stopped, the last first. */
export interface StopStack {
  add(name: string, stop: () => void | Promise<void>): void;
  /** Stops all; one that fails does not keep the others running. Returns what failed. */
  unwind(): Promise<Error[]>;
}

export function createStopStack(onStop: (name: string) => void = () => undefined): StopStack {
  const entries: { name: string; stop: () => void | Promise<void> }[] = [];
  return {
    add(name, stop) {
      entries.push({ name, stop });
    },
    async unwind() {
      const failures: Error[] = [];
      for (let entry = entries.pop(); entry; entry = entries.pop()) {
        onStop(entry.name);
        try {
          await entry.stop();
        } catch (cause) {
          failures.push(new Error(`${entry.name} did not stop as it should`, { cause }));
        }
      }
      return failures;
    },
  };
}
