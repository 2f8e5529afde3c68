import { inert } from '@ghost/operations';

import { createProgress, type Progress, type ProgressOutput } from '../progress.js';

const TICK_MS = 1000;

/** Says what happens, line by line; what others wrote cannot steer the terminal. */
export interface Teller {
  readonly say: (line: string) => void;
  /**
   * Says what is being done and, while it lasts, for how long: one line that changes on a terminal, a
   * line now and then elsewhere. One step at a time.
   */
  readonly step: <T>(what: string, work: () => Promise<T>) => Promise<T>;
}

export function createTeller(output: ProgressOutput): Teller {
  let current: Progress | undefined;
  return {
    say(line) {
      if (current) current.say(inert(line));
      else output.write(`${inert(line)}\n`);
    },
    async step(what, work) {
      const progress = createProgress(output);
      current = progress;
      const startedAt = performance.now();
      progress.show(`${what} …`);
      const timer = setInterval(() => {
        progress.show(`${what} … ${Math.round((performance.now() - startedAt) / 1000)} s`);
      }, TICK_MS);
      try {
        return await work();
      } finally {
        clearInterval(timer);
        progress.end();
        current = undefined;
      }
    },
  };
}
