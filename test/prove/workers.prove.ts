import { inTransaction, type Pool } from '@ghost/db';
import { hookLane } from '@ghost/queue';

import { createDeliverySeed } from '../support/delivery-seed.js';
import { addJobs, addJobsIn } from '../support/load/add-jobs.js';
import { startWorker } from '../support/load/load-world.js';
import { addHooks, openLanes, preloadJobs } from '../support/load/preload.js';
import { type LoadReceiver, startLoadReceiver } from '../support/load/receiver.js';
import { proveLanes } from '../support/prove-lanes.js';
import { progress } from '../support/progress.js';
import { type ProofRow, startProofDatabase } from '../support/proof-world.js';
import { median } from '../support/quantile.js';
import { type Stops, withStops } from '../support/stops.js';
import { openPool } from '../support/test-database.js';
import { waitUntil } from '../support/wait-until.js';

export const name =
  'Two and four delivery processes on one database: nothing twice, no receiver above its cap';

const HOOKS = 1_000;
const JOBS = 12_000;
/** A fresh process is slow until its code is compiled. */
const WARM_UP_JOBS_EACH = 2_000;
const ROUNDS = 5;
const COUNTS = [1, 2, 4] as const;
const BOUNDS: Readonly<Record<number, number>> = { 2: 0.85, 4: 0.7 };

const SLOTS = 10;
const CAPPED_LANES = 4;
const CAPPED_JOBS_EACH = 300;
/** Longer than jobs of a lane wait for each other's connection. */
const CAPPED_ANSWERS_AFTER_MS = 150;
const OLDER_JOBS = 30;
const LOWERED_SLOTS = 3;
/** What was claimed before the cap was lowered has been sent and answered by then. */
const LOWERED_WITHIN_MS = 1_000;
const WITHIN_MS = 120_000;

interface World {
  databaseUrl: string;
  pool: Pool;
  receiver: LoadReceiver;
  hookIds: number[];
}

export function run(): AsyncGenerator<ProofRow> {
  return withStops(async function* (stops) {
    const { url } = await startProofDatabase(stops);
    const pool = openPool(url, 4);
    stops.add(() => pool.end());
    await (await createDeliverySeed(url)).close();
    const receiver = await startLoadReceiver(stops);
    const hookIds = await addHooks(pool, HOOKS, (n) => receiver.after(0, `fast-${n}`));
    const world: World = { databaseUrl: url, pool, receiver, hookIds };
    yield* throughput(world);
    for (const workers of [2, 4]) {
      yield* withWorkers(world, workers, () => caps(world, workers));
    }
    yield repeats(await receiver.report());
  });
}

/** In turns, so that whatever else the machine does hits all alike. */
async function* throughput(world: World): AsyncGenerator<ProofRow> {
  const rates = new Map<number, number[]>(COUNTS.map((count) => [count, []]));
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const count of COUNTS) {
      for await (const rate of withWorkers(world, count, () => drainTwice(world, count))) {
        rates.get(count)?.push(rate);
        progress(`round ${round + 1}, ${count} workers: ${Math.round(rate)} jobs/s`);
      }
    }
  }
  const one = median(rates.get(1) ?? []);
  for (const count of COUNTS) {
    const bound = BOUNDS[count];
    if (bound === undefined) continue;
    const ratio = median(rates.get(count) ?? []) / one;
    yield {
      what: `${count} processes: jobs/s to those of one`,
      figure: `${ratio.toFixed(2)} × ${Math.round(one).toLocaleString('en')}`,
      bound: `≥ ${bound} ×`,
      ok: ratio >= bound,
    };
  }
}

/** The second time counts. */
async function* drainTwice(world: World, workers: number): AsyncGenerator<number> {
  await drain(world, WARM_UP_JOBS_EACH * workers);
  yield await drain(world, JOBS);
}

/** Jobs a second, from the commit that made them due to the last receipt. */
async function drain({ pool, receiver, hookIds }: World, jobs: number): Promise<number> {
  await receiver.forget();
  await preloadJobs(pool, { hookIds, jobs });
  const startedAt = Date.now();
  await openLanes(pool, hookIds);
  await came(receiver, jobs);
  const { arrivals } = await receiver.report();
  return (jobs * 1000) / (Math.max(...arrivals.map(([, , at]) => at)) - startedAt);
}

async function* caps(world: World, workers: number): AsyncGenerator<ProofRow> {
  yield await manyJobs(world, workers);
  yield await olderJobs(world, workers);
  yield await loweredCap(world, workers);
}

async function manyJobs({ pool, receiver }: World, workers: number): Promise<ProofRow> {
  await receiver.forget();
  const hookIds = await addHooks(pool, CAPPED_LANES, (n) =>
    receiver.after(CAPPED_ANSWERS_AFTER_MS, `capped-${workers}-${n}`),
  );
  const jobs = CAPPED_LANES * CAPPED_JOBS_EACH;
  await preloadJobs(pool, { hookIds, jobs, proven: true });
  await openLanes(pool, hookIds);
  await came(receiver, jobs);
  const peaks = Object.values((await receiver.report()).peaks);
  return {
    what: `${workers} processes, ${CAPPED_LANES} receivers with a queue: most at once, of any`,
    figure: peaks.join(', '),
    bound: `${SLOTS}`,
    ok: peaks.length === CAPPED_LANES && peaks.every((peak) => peak === SLOTS),
  };
}

/** A transaction that began before all others commits last: its jobs stand before those in flight. */
async function olderJobs({ pool, receiver }: World, workers: number): Promise<ProofRow> {
  await receiver.forget();
  const key = `older-${workers}`;
  const [hookId = 0] = await addHooks(pool, 1, () => receiver.after(1_000, key));
  await proveLanes(pool, [hookLane(hookId)]);
  await inTransaction(pool, async (tx) => {
    await addJobs(pool, Array<number>(2 * SLOTS).fill(hookId));
    await came(receiver, SLOTS);
    await addJobsIn(pool, tx, Array<number>(OLDER_JOBS).fill(hookId));
  });
  await came(receiver, 2 * SLOTS + OLDER_JOBS);
  const peak = (await receiver.report()).peaks[key] ?? 0;
  return {
    what: `${workers} processes, ${OLDER_JOBS} older jobs commit beside ${SLOTS} in flight: most at once`,
    figure: String(peak),
    bound: String(SLOTS),
    ok: peak === SLOTS,
  };
}

async function loweredCap({ pool, receiver }: World, workers: number): Promise<ProofRow> {
  await receiver.forget();
  const key = `lowered-${workers}`;
  const jobs = 100;
  const [hookId = 0] = await addHooks(pool, 1, () => receiver.after(300, key));
  await proveLanes(pool, [hookLane(hookId)]);
  await addJobs(pool, Array<number>(jobs).fill(hookId));
  await came(receiver, SLOTS);
  await pool.query('UPDATE delivery_lane SET slots = $2 WHERE lane = $1', [
    hookLane(hookId),
    LOWERED_SLOTS,
  ]);
  const from = Date.now() + LOWERED_WITHIN_MS;
  await came(receiver, jobs);
  const { arrivals } = await receiver.report();
  const later = arrivals.filter(([, , at]) => at >= from).map(([, , , inFlight]) => inFlight);
  const peak = Math.max(0, ...later);
  return {
    what: `${workers} processes, the cap lowered to ${LOWERED_SLOTS} beside ${SLOTS} in flight: most at once`,
    figure: `${peak} (${later.length} requests)`,
    bound: String(LOWERED_SLOTS),
    ok: peak === LOWERED_SLOTS,
  };
}

async function came(receiver: LoadReceiver, count: number): Promise<void> {
  await waitUntil(async () => (await receiver.count()) >= count, {
    timeoutMs: WITHIN_MS,
    everyMs: 50,
    what: `${count} requests`,
  });
}

/** As many as are wanted, ready before the work begins and stopped after it. */
async function* withWorkers<Row>(
  { databaseUrl }: World,
  count: number,
  work: () => AsyncGenerator<Row>,
): AsyncGenerator<Row> {
  yield* withStops(async function* (stops: Stops) {
    await Promise.all(Array.from({ length: count }, () => startWorker(stops, databaseUrl)));
    yield* work();
  });
}

function repeats({ repeats: n }: { repeats: number }): ProofRow {
  return { what: 'jobs sent twice, in all of it', figure: String(n), bound: '0', ok: n === 0 };
}
