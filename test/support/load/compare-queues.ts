import type { Pool } from '@ghost/db';

import { createDeliverySeed } from '../delivery-seed.js';
import { progress } from '../progress.js';
import { addProofDatabase, type ProofRow, startProofDatabase } from '../proof-world.js';
import { Stops } from '../stops.js';
import { openPool } from '../test-database.js';
import { compareClaims, type MeasuredQueue, measuredQueue } from './claim-costs.js';
import { addHooks, openLanes, preloadJobs } from './preload.js';

const DENSE_LANES = 100;
const BACKLOG = 1_000;
const ROUNDS = 40;

const BUFFERS_BOUND = 1.3;
const TIME_BOUND = 1.6;

/** A durable server with Postgres' own settings that counts what statements cost. */
export interface MeasuredServer {
  url: string;
  pool: Pool;
}

export async function startMeasuredServer(stops: Stops): Promise<MeasuredServer> {
  const server = await startProofDatabase(stops, {
    shared_preload_libraries: 'pg_stat_statements',
  });
  await server.pool.query('CREATE EXTENSION pg_stat_statements');
  return server;
}

export interface Comparison {
  lanes?: number;
  /** Lanes that a claim looks at. */
  looksAt?: number;
  backlog?: number;
  bounds?: { buffers: number; time: number };
  /** What happened to the loaded queue before; nothing of it is left to do, or all of it is. */
  age: (loaded: MeasuredQueue, own: Stops) => Promise<unknown>;
  afterwards?: (base: MeasuredQueue, loaded: MeasuredQueue) => AsyncGenerator<ProofRow>;
}

/** Two rows: what a claim costs in a queue that was made as said, to what it costs in a fresh one. */
export async function* compare(
  first: MeasuredServer,
  what: string,
  comparison: Comparison,
): AsyncGenerator<ProofRow> {
  const { lanes = DENSE_LANES, looksAt, backlog = BACKLOG, age, afterwards } = comparison;
  const { bounds = { buffers: BUFFERS_BOUND, time: TIME_BOUND } } = comparison;
  const own = new Stops();
  try {
    const base = await makeQueue(own, first, 'base', lanes, looksAt);
    const loaded = await makeQueue(own, first, 'loaded', lanes, looksAt);
    const startedAt = performance.now();
    await age(loaded, own);
    progress(`${what}: prepared in ${((performance.now() - startedAt) / 1000).toFixed(0)} s`);
    for (const each of [base, loaded]) {
      await preload(each, backlog, true);
    }
    const seen = await compareClaims(first.pool, base, loaded, ROUNDS);
    const buffers = seen.loaded.buffers / seen.base.buffers;
    const time = seen.loaded.ms / seen.base.ms;
    yield {
      what: `${what}: buffers a claim of 100`,
      figure: `${buffers.toFixed(2)} × ${seen.base.buffers}`,
      bound: `≤ ${bounds.buffers} ×`,
      ok: buffers <= bounds.buffers,
    };
    yield {
      what: `${what}: time a claim of 100`,
      figure: `${time.toFixed(2)} × ${seen.base.ms.toFixed(1)} ms`,
      bound: `≤ ${bounds.time} ×`,
      ok: time <= bounds.time,
    };
    if (afterwards) yield* afterwards(base, loaded);
  } finally {
    await own.run();
  }
}

async function makeQueue(
  own: Stops,
  first: MeasuredServer,
  name: string,
  lanes: number,
  looksAt: number | undefined,
): Promise<MeasuredQueue> {
  own.add(() => first.pool.query(`DROP DATABASE ${name} WITH (FORCE)`));
  const { url, pool } = await addProofDatabase(own, first, name);
  const seed = await createDeliverySeed(url);
  await seed.close();
  const hookIds = await addHooks(pool, lanes, (n) => `http://127.0.0.1:9/${n}`);
  return measuredQueue(pool, hookIds, looksAt);
}

/** Makes jobs due in all of the lanes, which have earned their slots. */
export async function preload({ pool, hookIds }: MeasuredQueue, jobs: number, quiet = false) {
  const onProgress = quiet ? () => undefined : every(500_000, 'jobs written');
  await preloadJobs(pool, { hookIds, jobs, proven: true, onProgress });
  await openLanes(pool, hookIds);
}

/** Holds back what vacuum may remove, from now to the end of the comparison. */
export async function holdSnapshot({ pool }: MeasuredQueue, own: Stops): Promise<void> {
  const { connectionString } = pool.options;
  const other = openPool(String(connectionString), 1);
  own.add(() => other.end());
  const client = await other.connect();
  own.add(() => client.release(true));
  await client.query(
    'SET idle_in_transaction_session_timeout = 0; BEGIN ISOLATION LEVEL REPEATABLE READ',
  );
  await client.query('SELECT count(*) FROM delivery_lane');
}

/** Tells of each so many. */
export function every(step: number, what: string): (n: number) => void {
  let told = 0;
  return (n) => {
    if (Math.floor(n / step) <= told) return;
    told = Math.floor(n / step);
    progress(`${n.toLocaleString('en')} ${what}`);
  };
}
