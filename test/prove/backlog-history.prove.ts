import type { Pool } from '@ghost/db';

import { costOf, type MeasuredQueue, processJobs } from '../support/load/claim-costs.js';
import {
  compare,
  every,
  type MeasuredServer,
  preload,
  startMeasuredServer,
} from '../support/load/compare-queues.js';
import { preloadJobs } from '../support/load/preload.js';
import type { ProofRow } from '../support/proof-world.js';
import { withStops } from '../support/stops.js';

export const name = 'A claim costs the same whatever waits, is finished or idle';

const BIG_BACKLOG = 1_000_000;
const FINISHED = 3_000_000;
const IDLE_LANES = 100_000;
/** Pages that a look may need more, beside those of a fresh queue. */
const EMPTY_MORE_BOUND = 10;

export function run(): AsyncGenerator<ProofRow> {
  return withStops(async function* (stops) {
    const server = await startMeasuredServer(stops);
    yield* bigBacklog(server);
    yield* longHistory(server);
    yield* idleLanes(server);
  });
}

async function* bigBacklog(server: MeasuredServer): AsyncGenerator<ProofRow> {
  yield* compare(server, `backlog of ${BIG_BACKLOG.toLocaleString('en')}`, {
    age: (loaded) => preload(loaded, BIG_BACKLOG),
  });
}

async function* longHistory(server: MeasuredServer): AsyncGenerator<ProofRow> {
  yield* compare(server, `${FINISHED.toLocaleString('en')} finished jobs kept`, {
    age: ({ pool, hookIds }) =>
      preloadJobs(pool, {
        hookIds,
        jobs: FINISHED,
        state: 'delivered',
        onProgress: every(500_000, 'finished jobs written'),
      }),
  });
}

async function* idleLanes(server: MeasuredServer): AsyncGenerator<ProofRow> {
  yield* compare(server, `${IDLE_LANES.toLocaleString('en')} idle lanes`, {
    age: ({ pool }) => addIdleLanes(pool),
    afterwards: async function* (base, loaded) {
      const fresh = await emptyLook(server.pool, base);
      const among = await emptyLook(server.pool, loaded);
      yield {
        what: 'a look that finds nothing there (claim and nextDue): buffers',
        figure: `${among.buffers}, ${among.ms.toFixed(1)} ms`,
        bound: `≤ ${fresh.buffers} + ${EMPTY_MORE_BOUND}`,
        ok: among.buffers <= fresh.buffers + EMPTY_MORE_BOUND,
      };
    },
  });
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
  const { pool, queue, lanes } = measured;
  const backlog = await pool.query<{ n: number }>(
    `SELECT count(*)::int AS n FROM delivery_job WHERE status = 'pending'`,
  );
  const known = { kind: 'webhook', version: 1 } as const;
  await processJobs(measured, backlog.rows[0]?.n ?? 0);
  await queue.nextDue(known);
  const claim = await costOf(statistics, 'delivery_claim', () =>
    queue.claim({ ...known, jobs: 100, lanes }),
  );
  const due = await costOf(statistics, 'delivery_next_due', () => queue.nextDue(known));
  return { buffers: claim.buffers + due.buffers, ms: claim.ms + due.ms };
}
