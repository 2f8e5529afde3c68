import { setTimeout as delay } from 'node:timers/promises';

/** Spaces mails evenly, so that a relay never sees more than its rate: `messages` in `perMs`. */
export function createRelayRate(
  rate: { messages: number; perMs: number },
  monotonic: () => number,
): (stop: AbortSignal) => Promise<void> {
  const everyMs = rate.perMs / rate.messages;
  let nextAt = 0;
  return async (stop) => {
    const now = monotonic();
    const at = Math.max(now, nextAt);
    nextAt = at + everyMs;
    if (at > now) await delay(at - now, undefined, { signal: stop }).catch(() => undefined);
  };
}
