import type { Pool } from '@ghost/db';
import { findFailingHooks } from '@ghost/operations';
import { type Queue, sqlOfPool } from '@ghost/queue';
import type { Logger } from 'pino';

import { FailingHooks } from './failing-hooks.js';

export interface HookWatchOptions {
  pool: Pool;
  queue: Queue;
  periodMs: number;
  monotonic: () => number;
  /** What loads a part of this program goes through it. */
  loaded: <T>(work: Promise<T>) => Promise<T>;
  log: Logger;
}

/** The watch over hooks that fail, on the database. */
export function watchHooks(options: HookWatchOptions): FailingHooks {
  const { pool, queue, periodMs, monotonic, loaded, log } = options;
  const sql = sqlOfPool(pool);
  return new FailingHooks({
    periodMs,
    find: (faults) => findFailingHooks(sql, faults, periodMs),
    judge: async (fault) => {
      const { judge } = await loaded(import('./judge.js'));
      return judge(pool, queue, fault, periodMs);
    },
    monotonic,
    log,
  });
}
