import { addJobs } from '../support/load/add-jobs.js';
import { processJobs } from '../support/load/claim-costs.js';
import {
  compare,
  every,
  holdSnapshot,
  type MeasuredServer,
  preload,
  startMeasuredServer,
} from '../support/load/compare-queues.js';
import { progress } from '../support/progress.js';
import type { ProofRow } from '../support/proof-world.js';
import { withStops } from '../support/stops.js';

export const name = 'A claim costs the same while another session holds an old snapshot';

const PROCESSED = 300_000;
const DENSE_LANES = 1_000;
const SPARSE_LANES = 1_000;
/** Each of the sparse lanes is emptied and filled again so often. */
const REFILLS = 100;
const SPARSE_BOUND = 2;

export function run(): AsyncGenerator<ProofRow> {
  return withStops(async function* (stops) {
    const server = await startMeasuredServer(stops);
    yield* denseLanes(server);
    yield* sparseLanes(server);
  });
}

async function* denseLanes(server: MeasuredServer): AsyncGenerator<ProofRow> {
  yield* compare(server, `${PROCESSED.toLocaleString('en')} jobs processed meanwhile`, {
    lanes: DENSE_LANES,
    backlog: 10 * DENSE_LANES,
    age: async (loaded, own) => {
      await holdSnapshot(loaded, own);
      await preload(loaded, PROCESSED);
      const seconds = await processJobs(loaded, PROCESSED, every(100_000, 'processed'));
      progress(`${Math.round(PROCESSED / seconds)} jobs/s under the snapshot`);
    },
  });
}

async function* sparseLanes(server: MeasuredServer): AsyncGenerator<ProofRow> {
  const what = `${SPARSE_LANES.toLocaleString('en')} sparse lanes refilled ${REFILLS} times meanwhile`;
  yield* compare(server, what, {
    lanes: SPARSE_LANES,
    looksAt: 100,
    backlog: SPARSE_LANES,
    bounds: { buffers: SPARSE_BOUND, time: SPARSE_BOUND },
    age: async (loaded, own) => {
      await preload(loaded, SPARSE_LANES, true);
      await processJobs(loaded, SPARSE_LANES);
      await holdSnapshot(loaded, own);
      const tell = every(25, 'refills');
      for (let n = 1; n <= REFILLS; n += 1) {
        await addJobs(loaded.pool, loaded.hookIds);
        await processJobs(loaded, SPARSE_LANES);
        tell(n);
      }
    },
  });
}
