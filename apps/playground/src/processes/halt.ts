/** Why everything stops. */
export type HaltReason =
  | { kind: 'asked'; signal: NodeJS.Signals }
  | { kind: 'failed'; error: Error };

/** One decision to stop, made once; whoever waits for something waits for it too. */
export interface Halt {
  readonly signal: AbortSignal;
  readonly reason: HaltReason | undefined;
  /** The first reason stands. */
  stop(reason: HaltReason): void;
  /** Settles when a reason was given. */
  wait(): Promise<HaltReason>;
  /** @throws HaltedError when a reason was given */
  check(): void;
}

/** Ends what was going on when a {@link Halt} came; its reason tells the rest. */
export class HaltedError extends Error {
  override readonly name = 'HaltedError';
}

const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
// npm passes on the Ctrl-C that the terminal sent us already: such an echo is no second wish.
const ECHO_MS = 500;

export function createHalt(): Halt {
  const controller = new AbortController();
  let given: HaltReason | undefined;
  return {
    signal: controller.signal,
    get reason() {
      return given;
    },
    stop(reason) {
      if (given) return;
      given = reason;
      controller.abort(new HaltedError('Stopping.'));
    },
    async wait() {
      if (!given) {
        await new Promise<void>((resolve) => {
          controller.signal.addEventListener('abort', () => resolve(), { once: true });
        });
      }
      if (!given) throw new Error('Halted without a reason.');
      return given;
    },
    check() {
      if (given) throw new HaltedError('Stopping.');
    },
  };
}

/**
 * The first SIGINT, SIGTERM or SIGHUP stops everything in order, a later one calls `force`.
 * @returns what takes the listeners off again
 */
export function haltOnSignals(
  halt: Halt,
  force: (signal: NodeJS.Signals) => void,
  now: () => number = () => performance.now(),
): () => void {
  let firstAt: number | undefined;
  const onSignal = (signal: NodeJS.Signals) => {
    if (firstAt === undefined) {
      firstAt = now();
      halt.stop({ kind: 'asked', signal });
    } else if (now() - firstAt > ECHO_MS) {
      force(signal);
    }
  };
  for (const signal of STOP_SIGNALS) process.on(signal, onSignal);
  return () => {
    for (const signal of STOP_SIGNALS) process.off(signal, onSignal);
  };
}
