import { setTimeout as delay } from 'node:timers/promises';

import { FIRST_ROWS, paceAfter } from './step-pace.js';

/**
 * Takes up to so many rows.
 * @returns how long the next step must wait at least, in milliseconds; null: this one was the last
 */
export type Step = (rows: number) => Promise<number | null>;

/**
 * Takes step after step with pauses between them, each as long as it may be, until one was the last.
 * @param signal - ends it after the step under way
 */
export async function inSteps(
  signal: AbortSignal | undefined,
  step: Step,
): Promise<'done' | 'stopped'> {
  let rows = FIRST_ROWS;
  while (signal?.aborted !== true) {
    const startedAt = performance.now();
    const waitMs = await step(rows);
    if (waitMs === null) return 'done';
    const pace = paceAfter(rows, performance.now() - startedAt);
    rows = pace.rows;
    await pause(Math.max(pace.pauseMs, waitMs), signal);
  }
  return 'stopped';
}

/** Shorter where the run is stopped meanwhile. */
async function pause(pauseMs: number, signal: AbortSignal | undefined): Promise<void> {
  try {
    await delay(pauseMs, undefined, { ...(signal === undefined ? {} : { signal }) });
  } catch (error) {
    if (signal?.aborted !== true) throw error;
  }
}
