import { withClient } from '@ghost/db';
import type { CancelStep, Queue, Sql } from '@ghost/queue';

import { pause } from '../retention/pause.js';
import { FIRST_ROWS, paceAfter } from '../retention/prune-pace.js';

/** Far over what a step takes: the server ends it first, the client where the server says nothing. */
const STATEMENT_WITHIN_MS = 10_000;
const ANSWER_WITHIN_MS = 15_000;
const LOCK = 'ghost_cancellations';
/** Between two looks while workers still send what they held: a result comes long before a lease ends. */
const LOOK_AGAIN_MS = 500;

/** What a run cancelled so far. */
export interface CancelledBehind {
  jobs: number;
  /** Hooks and repositories of which nothing is pending any more. */
  targets: number;
}

export type CancellationsRun =
  | { result: 'done' | 'stopped'; counts: CancelledBehind }
  /** Another runner is at it: nothing was done. */
  | { result: 'busy' };

export interface CancellationsOptions {
  queue: Queue;
  /** A direct connection: behind a pooler in transaction mode the lock would stay with somebody else's. */
  databaseUrl: string;
  /** Shown in pg_stat_activity. */
  name: string;
  /** Ends it after the step under way. */
  signal?: AbortSignal;
  /** Hears after each step what was cancelled so far. */
  onStep?: (counts: Readonly<CancelledBehind>) => void;
}

/**
 * Cancels what is pending of deleted hooks and repositories, until nothing of them is left. One runner at a time, in steps of
 * some 10 ms with pauses; each is committed by itself, so whoever comes after one that died goes on where it stopped.
 */
export async function finishCancellations(
  options: CancellationsOptions,
): Promise<CancellationsRun> {
  const { databaseUrl, name, queue, signal, onStep } = options;
  const config = {
    connectionString: databaseUrl,
    application_name: name,
    statement_timeout: STATEMENT_WITHIN_MS,
    query_timeout: ANSWER_WITHIN_MS,
  };
  return withClient(config, async (client): Promise<CancellationsRun> => {
    const sql: Sql = {
      query: async <Row extends object>(text: string, values: readonly unknown[]) =>
        (await client.query<Row>(text, [...values])).rows,
    };
    if (!(await takeLock(sql))) return { result: 'busy' };
    const counts: CancelledBehind = { jobs: 0, targets: 0 };
    let rows = FIRST_ROWS;
    while (signal?.aborted !== true) {
      const startedAt = performance.now();
      const step = await queue.cancelSome(sql, rows);
      counts.jobs += step.cancelled;
      counts.targets += step.ended.length;
      onStep?.(counts);
      if (step.waitMs === null) return { result: 'done', counts };
      const pace = paceAfter(rows, performance.now() - startedAt);
      rows = pace.rows;
      await pause(pauseAfter(step, pace.pauseMs), signal);
    }
    return { result: 'stopped', counts };
  });
}

/** Whether something is left to be cancelled. */
export async function areCancellationsLeft(sql: Sql): Promise<boolean> {
  const rows = await sql.query('SELECT FROM delivery_cancellation LIMIT 1', []);
  return rows.length > 0;
}

async function takeLock(sql: Sql): Promise<boolean> {
  const [row] = await sql.query<{ mine: boolean }>(
    'SELECT pg_try_advisory_lock(hashtextextended($1, 0)) AS mine',
    [LOCK],
  );
  return row?.mine ?? false;
}

function pauseAfter({ waitMs }: CancelStep, pauseMs: number): number {
  return Math.max(pauseMs, Math.min(waitMs ?? 0, LOOK_AGAIN_MS));
}
