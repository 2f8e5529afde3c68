import type { Queue, Sql } from '@ghost/queue';

import { inSteps } from '../steps/in-steps.js';
import { type Busy, type RunAlone, runAlone } from '../steps/run-alone.js';

const LOCK = 'ghost_cancellations';
/** Between two looks while workers still send what they held: a result comes long before a lease ends. */
const LOOK_AGAIN_MS = 500;

/** What a run cancelled so far. */
export interface CancelledBehind {
  jobs: number;
  /** Hooks and repositories of which nothing is pending any more. */
  targets: number;
}

export type CancellationsRun = { result: 'done' | 'stopped'; counts: CancelledBehind } | Busy;

export interface CancellationsOptions extends Omit<RunAlone, 'lock'> {
  queue: Queue;
  /** Ends it after the step under way. */
  signal?: AbortSignal;
  /** Hears after each step what was cancelled so far. */
  onStep?: (counts: Readonly<CancelledBehind>) => void;
}

/**
 * Cancels what is pending of deleted hooks and repositories, until nothing of them is left. One runner at a time, in steps of
 * some 10 ms with pauses; each is committed by itself, so whoever comes after one that died goes on where it stopped.
 */
export async function finishCancellations({
  queue,
  signal,
  onStep,
  ...alone
}: CancellationsOptions): Promise<CancellationsRun> {
  return runAlone({ ...alone, lock: LOCK }, async (sql) => {
    const counts: CancelledBehind = { jobs: 0, targets: 0 };
    const result = await inSteps(signal, async (rows) => {
      const { cancelled, ended, waitMs } = await queue.cancelSome(sql, rows);
      counts.jobs += cancelled;
      counts.targets += ended.length;
      onStep?.(counts);
      return waitMs === null ? null : Math.min(waitMs, LOOK_AGAIN_MS);
    });
    return { result, counts };
  });
}

/** Whether something is left to be cancelled. */
export async function areCancellationsLeft(sql: Sql): Promise<boolean> {
  const rows = await sql.query('SELECT FROM delivery_cancellation LIMIT 1', []);
  return rows.length > 0;
}
