// Without a terminal each state is a line of its own: few, so that a log stays readable.
const PLAIN_EVERY_MS = 5000;

/** Shows how far something is: one line that changes on a terminal, a line now and then elsewhere. */
export interface Progress {
  show(text: string): void;
  /** Says a line of its own, above the state. */
  say(line: string): void;
  /** Leaves the last state behind. */
  end(): void;
}

export interface ProgressOutput {
  isTTY?: boolean;
  /** How wide the terminal is. */
  columns?: number;
  write(text: string): unknown;
}

export function createProgress(
  output: ProgressOutput,
  now: () => number = () => performance.now(),
): Progress {
  let shown = '';
  let drawn = '';
  let shownAt = Number.NEGATIVE_INFINITY;
  return {
    show(text) {
      if (text === shown) return;
      // A line that wraps could not be taken back.
      drawn = text.slice(0, (output.columns ?? Number.POSITIVE_INFINITY) - 1);
      if (output.isTTY === true) output.write(`\r\u001B[K${drawn}`);
      else if (now() - shownAt < PLAIN_EVERY_MS) return;
      else output.write(`${text}\n`);
      shown = text;
      shownAt = now();
    },
    say(line) {
      const open = output.isTTY === true && shown !== '';
      output.write(open ? `\r\u001B[K${line}\n${drawn}` : `${line}\n`);
    },
    end() {
      if (output.isTTY === true && shown !== '') output.write('\n');
    },
  };
}
