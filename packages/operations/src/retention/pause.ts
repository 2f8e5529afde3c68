import { setTimeout as delay } from 'node:timers/promises';

/** Waits between two steps; shorter where the run is stopped meanwhile. */
export async function pause(pauseMs: number, signal: AbortSignal | undefined): Promise<void> {
  try {
    await delay(pauseMs, undefined, { ...(signal === undefined ? {} : { signal }) });
  } catch (error) {
    if (signal?.aborted !== true) throw error;
  }
}
