import type { Pool } from '@ghost/db';
import { createPostgresQueue, type ClaimedJob, type Queue, type Settlement } from '@ghost/queue';

import { median } from '../quantile.js';
import { addJobs } from './add-jobs.js';

/** What the server says of one call: pages that it looked at, in memory or not, and its time. */
export interface Cost {
  buffers: number;
  ms: number;
}

/** A queue on one connection, whose claims are counted by `pg_stat_statements`. */
export interface MeasuredQueue {
  pool: Pool;
  queue: Queue;
  hookIds: readonly number[];
  /** Lanes that a claim looks at. */
  lanes: number;
}

export interface Compared {
  base: Cost;
  loaded: Cost;
  rounds: number;
}

/** A claim's plan is kept from its sixth call on, and catalogs are in memory then. */
const WARM_UP_ROUNDS = 10;
const JOBS_A_CLAIM = 100;
const FEW_LANES = 25;

/** @param pool - of one connection, so that plans are kept */
export function measuredQueue(
  pool: Pool,
  hookIds: readonly number[],
  lanes = FEW_LANES,
): MeasuredQueue {
  return { pool, queue: createPostgresQueue({ pool }), hookIds, lanes };
}

/**
 * Claims and settles in both queues by turns, and refills the lanes that were claimed from: the
 * medians of what the claims cost.
 * @param statistics - any database of the server, with the extension
 */
export async function compareClaims(
  statistics: Pool,
  base: MeasuredQueue,
  loaded: MeasuredQueue,
  rounds: number,
): Promise<Compared> {
  const costs: { base: Cost[]; loaded: Cost[] } = { base: [], loaded: [] };
  // Each lane is looked at once before it counts.
  const first = Math.max(WARM_UP_ROUNDS, Math.ceil(base.hookIds.length / base.lanes));
  for (let n = -first; n < rounds; n += 1) {
    const order = n % 2 === 0 ? (['base', 'loaded'] as const) : (['loaded', 'base'] as const);
    for (const which of order) {
      const cost = await turn(statistics, which === 'base' ? base : loaded);
      if (n >= 0) costs[which].push(cost);
    }
  }
  return { base: middle(costs.base), loaded: middle(costs.loaded), rounds };
}

/** Claims and settles until so many were delivered; returns how long it took, in seconds. */
export async function processJobs(
  { queue, lanes }: MeasuredQueue,
  jobs: number,
  onProgress?: (done: number) => void,
): Promise<number> {
  const startedAt = performance.now();
  for (let done = 0; done < jobs; ) {
    const most = Math.min(500, jobs - done);
    const claim = await queue.claim({ kind: 'webhook', version: 1, jobs: most, lanes: lanes * 4 });
    if (claim.jobs.length === 0) throw new Error(`Nothing to claim after ${done} jobs`);
    await queue.settle(claim.jobs.map(delivered));
    done += claim.jobs.length;
    onProgress?.(done);
  }
  return (performance.now() - startedAt) / 1000;
}

/** What one statement of the verb costs that `work` runs once. */
export async function costOf(
  statistics: Pool,
  verb: string,
  work: () => Promise<unknown>,
): Promise<Cost> {
  await statistics.query('SELECT pg_stat_statements_reset()');
  await work();
  const { rows } = await statistics.query<Cost & { calls: string }>(
    `SELECT sum(calls) AS calls, sum(shared_blks_hit + shared_blks_read)::float8 AS buffers, sum(total_exec_time) AS ms
     FROM pg_stat_statements WHERE query LIKE '%' || $1 || '(%'`,
    [verb],
  );
  const [row] = rows;
  if (row?.calls !== '1') throw new Error(`${verb} ran ${row?.calls ?? 'never'} times`);
  return { buffers: row.buffers, ms: row.ms };
}

async function turn(statistics: Pool, measured: MeasuredQueue): Promise<Cost> {
  const { queue, pool, lanes } = measured;
  let jobs: ClaimedJob[] = [];
  const cost = await costOf(statistics, 'delivery_claim', async () => {
    ({ jobs } = await queue.claim({ kind: 'webhook', version: 1, jobs: JOBS_A_CLAIM, lanes }));
  });
  if (jobs.length !== JOBS_A_CLAIM) throw new Error(`A claim brought ${jobs.length} jobs`);
  await queue.settle(jobs.map(delivered));
  await addJobs(
    pool,
    jobs.map(({ lane }) => Number(lane.slice('hook:'.length))),
  );
  return cost;
}

export function delivered(job: ClaimedJob): Settlement {
  const { id, leaseNo, lane, version } = job;
  const attempt = { startedAt: new Date().toISOString(), status: 200 };
  return {
    id,
    leaseNo,
    lane,
    version,
    outcome: 'delivered',
    reason: null,
    charged: true,
    delayMs: 0,
    attempt,
  };
}

function middle(costs: readonly Cost[]): Cost {
  return { buffers: median(costs.map((c) => c.buffers)), ms: median(costs.map((c) => c.ms)) };
}
