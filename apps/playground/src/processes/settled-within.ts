import { setTimeout as delay } from 'node:timers/promises';

/** Tells whether a promise was fulfilled in time. @throws what it rejects with until then */
export async function settledWithin(promise: Promise<unknown>, ms: number): Promise<boolean> {
  const timeout = new AbortController();
  const late = delay(ms, false, { signal: timeout.signal }).catch(() => false);
  try {
    return await Promise.race([promise.then(() => true), late]);
  } finally {
    timeout.abort();
  }
}
