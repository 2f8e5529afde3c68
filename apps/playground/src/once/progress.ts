// Without a terminal each state is a line of its own: few, so that a log stays readable.
const PLAIN_EVERY_MS = 5000;

/** Shows how far something is: one line that changes on a terminal, a line now and then elsewhere. */
export interface Progress {
  show(text: string): void;
  /** Leaves the last state behind. */
  end(): void;
}

export interface ProgressOutput {
  isTTY?: boolean;
  write(text: string): unknown;
}

export function createProgress(
  output: ProgressOutput,
  now: () => number = () => performance.now(),
): Progress {
  let shown = '';
  let shownAt = Number.NEGATIVE_INFINITY;
  return {
    show(text) {
      if (text === shown) return;
      if (output.isTTY === true) output.write(`\r\u001B[K${text}`);
      else if (now() - shownAt < PLAIN_EVERY_MS) return;
      else output.write(`${text}\n`);
      shown = text;
      shownAt = now();
    },
    end() {
      if (output.isTTY === true && shown !== '') output.write('\n');
    },
  };
}
