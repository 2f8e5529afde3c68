import { setTimeout as delay } from 'node:timers/promises';

const DEFAULT_TIMEOUT_MS = 10_000;
const DEFAULT_EVERY_MS = 20;

export interface WaitOptions {
  readonly timeoutMs?: number;
  readonly everyMs?: number;
  /** What is waited for, to complete the sentence "Waited for …"; a function tells the last state. */
  readonly what: string | (() => string);
}

type Falsy = false | 0 | '' | null | undefined;

/**
 * Asks again and again until the answer is true-like, and returns it.
 *
 * @throws when the time is up, saying what was waited for and the last answer; what the predicate
 *   throws itself ends the wait at once.
 */
export async function waitUntil<T>(
  predicate: () => T | Promise<T>,
  options: WaitOptions,
): Promise<Exclude<T, Falsy>> {
  const { timeoutMs = DEFAULT_TIMEOUT_MS, everyMs = DEFAULT_EVERY_MS, what } = options;
  const giveUpAt = performance.now() + timeoutMs;
  for (;;) {
    const answer = await predicate();
    if (answer) return answer as Exclude<T, Falsy>;
    if (performance.now() >= giveUpAt) {
      const subject = typeof what === 'string' ? what : what();
      throw new Error(
        `Waited ${timeoutMs} ms for ${subject}, in vain (last answer: ${String(answer)}).`,
      );
    }
    await delay(everyMs);
  }
}
