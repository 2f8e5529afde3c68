import { setTimeout as delay } from 'node:timers/promises';

/**
 * Starts `work` so many times a second, whatever the work before takes: who waits for an answer
 * before asking again measures a slow system less often than a fast one.
 */
export async function openLoop(
  perSecond: number,
  forMs: number,
  work: (n: number) => Promise<unknown>,
): Promise<void> {
  const startedAt = performance.now();
  const total = Math.round((perSecond * forMs) / 1000);
  const under: Promise<unknown>[] = [];
  for (let n = 0; n < total; n += 1) {
    const waitMs = startedAt + (n * 1000) / perSecond - performance.now();
    if (waitMs > 0) await delay(waitMs);
    under.push(work(n));
  }
  await Promise.all(under);
}
