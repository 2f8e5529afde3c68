import type { Pool } from '@ghost/db';

import { createDeliverySeed } from '../support/delivery-seed.js';
import {
  compareClaims,
  costOf,
  type MeasuredQueue,
  measuredQueue,
  processJobs,
} from '../support/load/claim-costs.js';
import { addHooks, openLanes, preloadJobs } from '../support/load/preload.js';
import { progress } from '../support/progress.js';
import { addProofDatabase, type ProofRow, startProofDatabase } from '../support/proof-world.js';
import { Stops, withStops } from '../support/stops.js';
import { openPool } from '../support/test-database.js';

export const name =
  'A claim costs the same whatever is old, waits, is finished or idle: old snapshots, backlog, history';

const DENSE_LANES = 100;
const SPARSE_LANES = 1_000;
const BACKLOG = 1_000;
const BIG_BACKLOG = 1_000_000;
const FINISHED = 3_000_000;
const IDLE_LANES = 100_000;
const PROCESSED = 300_000;
/** Each of the sparse lanes is emptied and filled again so often. */
const REFILLS = 100;
const ROUNDS = 40;

const BUFFERS_BOUND = 1.3;
const TIME_BOUND = 1.6;
const SPARSE_BOUND = 2;

interface World {
  stops: Stops;
  first: { url: string; pool: Pool };
}

/** On a durable server with Postgres' own settings; each row compares two databases by turns. */
export function run(): AsyncGenerator<ProofRow> {
  return withStops(async function* (stops) {
    const first = await startProofDatabase(stops, {
      shared_preload_libraries: 'pg_stat_statements',
    });
    await first.pool.query('CREATE EXTENSION pg_stat_statements');
    const world = { stops, first };
    yield* heldSnapshot(world);
    yield* bigBacklog(world);
    yield* longHistory(world);
    yield* idleLanes(world);
    yield* sparseLanes(world);
  });
}

async function* heldSnapshot(world: World): AsyncGenerator<ProofRow> {
  yield* compare(world, `${PROCESSED.toLocaleString('en')} jobs processed under an old snapshot`, {
    age: async (loaded, own) => {
      await holdSnapshot(loaded, own);
      await preload(loaded, PROCESSED);
      const seconds = await processJobs(loaded, PROCESSED, every(100_000, 'processed'));
      progress(`processed ${Math.round(PROCESSED / seconds)} jobs/s under the snapshot`);
    },
  });
}

async function* bigBacklog(world: World): AsyncGenerator<ProofRow> {
  yield* compare(world, `backlog of ${BIG_BACKLOG.toLocaleString('en')}`, {
    age: (loaded) => preload(loaded, BIG_BACKLOG),
  });
}

async function* longHistory(world: World): AsyncGenerator<ProofRow> {
  yield* compare(world, `${FINISHED.toLocaleString('en')} finished jobs kept`, {
    age: ({ pool, hookIds }) =>
      preloadJobs(pool, {
        hookIds,
        jobs: FINISHED,
        state: 'delivered',
        onProgress: every(500_000, 'finished jobs written'),
      }),
  });
}

async function* idleLanes(world: World): AsyncGenerator<ProofRow> {
  yield* compare(world, `${IDLE_LANES.toLocaleString('en')} idle lanes`, {
    age: ({ pool }) => addIdleLanes(pool),
    afterwards: async function* (base, loaded) {
      const empty = await emptyLook(world.first.pool, base);
      const emptyLoaded = await emptyLook(world.first.pool, loaded);
      yield told(
        'a look that finds nothing there: claim and nextDue',
        `${emptyLoaded.buffers} buffers, ${emptyLoaded.ms.toFixed(1)} ms (fresh ${empty.buffers}, ${empty.ms.toFixed(1)} ms)`,
        emptyLoaded.buffers <= empty.buffers * SPARSE_BOUND + 10,
      );
    },
  });
}

async function* sparseLanes(world: World): AsyncGenerator<ProofRow> {
  yield* compare(
    world,
    `${SPARSE_LANES.toLocaleString('en')} sparse lanes refilled ${REFILLS} times under an old snapshot`,
    {
      lanes: SPARSE_LANES,
      looksAt: 100,
      backlog: SPARSE_LANES,
      bounds: { buffers: SPARSE_BOUND, time: SPARSE_BOUND },
      age: async (loaded, own) => {
        await holdSnapshot(loaded, own);
        for (let n = 1; n <= REFILLS; n += 1) {
          await preload(loaded, SPARSE_LANES, true);
          await processJobs(loaded, SPARSE_LANES);
          every(25, 'refills')(n);
        }
      },
    },
  );
}

interface Comparison {
  lanes?: number;
  /** Lanes that a claim looks at. */
  looksAt?: number;
  backlog?: number;
  bounds?: { buffers: number; time: number };
  /** What happened to the loaded queue before; nothing of it is left to do, or all of it is. */
  age: (loaded: MeasuredQueue, own: Stops) => Promise<unknown>;
  afterwards?: (base: MeasuredQueue, loaded: MeasuredQueue) => AsyncGenerator<ProofRow>;
}

async function* compare(
  { first }: World,
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
      await openLanes(each.pool, each.hookIds);
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
  first: World['first'],
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

async function preload({ pool, hookIds }: MeasuredQueue, jobs: number, quiet = false) {
  const onProgress = quiet ? () => undefined : every(500_000, 'jobs written');
  await preloadJobs(pool, { hookIds, jobs, proven: true, onProgress });
  await openLanes(pool, hookIds);
}

/** Holds back what vacuum may remove, from now to the end of the comparison. */
async function holdSnapshot({ pool }: MeasuredQueue, own: Stops): Promise<void> {
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

async function addIdleLanes(pool: Pool): Promise<void> {
  await pool.query(
    `INSERT INTO delivery_lane (lane, version, kind, mark) SELECT 'hook:' || 1000000 + n, 1, 'webhook', now()
     FROM generate_series(1, $1::int) n`,
    [IDLE_LANES],
  );
}

/** Both statements of a worker that looks and finds nothing, everything being settled before. */
async function emptyLook(
  statistics: Pool,
  measured: MeasuredQueue,
): Promise<{ buffers: number; ms: number }> {
  const { queue, lanes } = measured;
  const known = { kind: 'webhook', version: 1 } as const;
  await processJobs(measured, BACKLOG);
  await queue.nextDue(known);
  const claim = await costOf(statistics, 'delivery_claim', () =>
    queue.claim({ ...known, jobs: 100, lanes }),
  );
  const due = await costOf(statistics, 'delivery_next_due', () => queue.nextDue(known));
  return { buffers: claim.buffers + due.buffers, ms: claim.ms + due.ms };
}

function told(what: string, figure: string, ok: boolean): ProofRow {
  return { what, figure, bound: 'told', ok };
}

/** Tells of each so many. */
function every(step: number, what: string): (n: number) => void {
  let told = 0;
  return (n) => {
    if (Math.floor(n / step) <= told) return;
    told = Math.floor(n / step);
    progress(`${n.toLocaleString('en')} ${what}`);
  };
}
