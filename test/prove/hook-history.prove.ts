import { Agent } from 'node:http';
import type { Pool } from '@ghost/db';

import { createDeliverySeed } from '../support/delivery-seed.js';
import { addJobs } from '../support/load/add-jobs.js';
import { addHistory, analyzeHistory, makeHistoryDays } from '../support/load/history.js';
import { lightWebhooks, type Timing } from '../support/load/light-load.js';
import { describeTimings, p99, startWorker } from '../support/load/load-world.js';
import {
  addHooks,
  addSecrets,
  openLanes,
  preloadJobs,
  untilWritten,
} from '../support/load/preload.js';
import { type LoadReceiver, startLoadReceiver } from '../support/load/receiver.js';
import { progress } from '../support/progress.js';
import {
  addPerson,
  type ProofRow,
  startProofApi,
  startProofDatabase,
} from '../support/proof-world.js';
import { median } from '../support/quantile.js';
import { type Stops, withStops } from '../support/stops.js';
import { openPool } from '../support/test-database.js';
import { timedRequest } from '../support/timed-request.js';
import { waitUntil } from '../support/wait-until.js';

export const name =
  'A page of a long history costs the same, wherever it is; deleting its hook answers at once';

const ATTEMPTS = 3_000_000;
/** As many as are kept by default. */
const DAYS = 30;
const OTHER_HOOKS = 20;
/** One in so many of the attempts failed; of the other hook, one in so many was delivered. */
const RARE_ONE_IN = { failed: 1_000, delivered: 100_000 };
const TRIES = 31;
const WARM_UP_TRIES = 5;
const BOUND_MS = 50;

const PER_PAGE = 30;
const PAGES = {
  first: null,
  middle: ATTEMPTS / 2,
  last: PER_PAGE + 1,
} as const;
const FILTERS = { all: '', delivered: '&status=success', failed: '&status=failure' } as const;

const PENDING = 1_000_000;
const DELETE_BOUND_MS = 1_000;
const CLEAN_UP_BOUND_S = 600;
/** What the other hooks get meanwhile. */
const LANES = 100;
const LIGHT_PER_SECOND = 50;
const LIGHT_MS = 20_000;
const RATIO_BOUND = 1.5;

interface World {
  pool: Pool;
  databaseUrl: string;
  receiver: LoadReceiver;
  agent: Agent;
  token: string;
  /** Of the hooks. */
  url: string;
  /** Almost all of its attempts were delivered. */
  healthy: number;
  /** Hardly any of its attempts was. */
  failing: number;
}

/** Asked over HTTP, so that the bound holds for the database all the more. */
export function run(): AsyncGenerator<ProofRow> {
  return withStops(async function* (stops) {
    const world = await start(stops);
    yield* measurePages(world);
    yield* deleteHook(stops, world);
  });
}

async function* measurePages(world: World): AsyncGenerator<ProofRow> {
  for (const [where, after] of Object.entries(PAGES)) {
    for (const [which, filter] of Object.entries(FILTERS)) {
      // The last of the failed are further apart.
      const apart = where === 'last' && which === 'failed' ? RARE_ONE_IN.failed : 1;
      const cursor = after === null ? '' : `&cursor=${cursorAfter(after * apart)}`;
      const below = `?per_page=${PER_PAGE}${filter}${cursor}`;
      yield await measure(world, world.healthy, `${where} page, ${which}`, below);
    }
  }
  for (const [which, filter] of Object.entries(FILTERS)) {
    const what = `first page of a hook that fails, ${which}`;
    yield await measure(world, world.failing, what, `?per_page=${PER_PAGE}${filter}`);
  }
  yield await measure(world, world.healthy, 'one attempt, in the middle', `/${ATTEMPTS / 2}`);
  for (const [by, value] of Object.entries(await middleDelivery(world))) {
    const what = `the attempts of one delivery, by ${by}`;
    yield await measure(world, world.healthy, what, `?${by}=${value}`);
  }
}

/** A delivery, and its event, whose attempts are amidst the others. */
async function middleDelivery({ pool }: World): Promise<Record<'guid' | 'event_id', string>> {
  const { rows } = await pool.query<{ guid: string; event_id: string }>(
    `SELECT id AS guid, split_part(idempotency_key, ':', 2) AS event_id FROM delivery_job
     WHERE id = (SELECT job_id FROM delivery_attempt WHERE id = $1)`,
    [ATTEMPTS / 2],
  );
  if (rows[0] === undefined) throw new Error('There is no such attempt');
  return rows[0];
}

/** As `Link` has it, for places that no page leads to soon. */
function cursorAfter(id: number): string {
  return Buffer.from(`deliveries:${id}`).toString('base64url');
}

async function measure(
  { url, agent, token }: World,
  hookId: number,
  what: string,
  below: string,
): Promise<ProofRow> {
  const took: number[] = [];
  for (let tries = -WARM_UP_TRIES; tries < TRIES; tries++) {
    const ms = await timedRequest({
      method: 'GET',
      url: `${url}/${hookId}/deliveries${below}`,
      agent,
      token,
      status: 200,
    });
    if (tries >= 0) took.push(ms);
  }
  const ms = median(took);
  return {
    what: `${what} of ${ATTEMPTS.toLocaleString('en')} attempts: median`,
    figure: `${ms.toFixed(1)} ms, worst ${Math.max(...took).toFixed(1)}`,
    bound: `≤ ${BOUND_MS} ms`,
    ok: ms <= BOUND_MS,
  };
}

/** The hook that fails, with what waits for it, while other hooks get theirs. */
async function* deleteHook(stops: Stops, world: World): AsyncGenerator<ProofRow> {
  const { pool, receiver, url, agent, token, failing } = world;
  const hookIds = await addHooks(pool, LANES, (n) => receiver.after(0, `light-${n}`));
  await preloadJobs(pool, { hookIds: [failing], jobs: PENDING });
  await untilWritten(pool);
  await startWorker(stops, world.databaseUrl);
  await addJobs(pool, hookIds);
  await openLanes(pool, [failing]);
  const light = async (pieces: number): Promise<Timing[]> => {
    await receiver.forget();
    const load = { pool, receiver, hookIds, perSecond: LIGHT_PER_SECOND };
    return lightWebhooks(load, pieces * LIGHT_MS);
  };
  await light(0.5);
  const alone = await light(2);

  const startedAt = performance.now();
  const answeredMs = await timedRequest({
    method: 'DELETE',
    url: `${url}/${failing}`,
    agent,
    token,
    status: 204,
  });
  const ending = untilGone(pool, failing);
  const beside = await light(3);
  const endedAt = await ending;
  // Before and after, as what else the machine does changes meanwhile.
  alone.push(...(await light(2)));
  progress(`light alone: ${describeTimings(alone)}; beside: ${describeTimings(beside)}`);
  const what = `a hook with ${ATTEMPTS.toLocaleString('en')} attempts and ${PENDING.toLocaleString('en')} pending jobs`;
  yield {
    what: `DELETE of ${what}: answer`,
    figure: `${answeredMs.toFixed(0)} ms`,
    bound: `≤ ${DELETE_BOUND_MS} ms`,
    ok: answeredMs <= DELETE_BOUND_MS,
  };
  const { rows } = await pool.query<{ status: string; jobs: number }>(
    `SELECT status, count(*)::int AS jobs FROM delivery_job WHERE hook_id = $1 AND idempotency_key LIKE 'load:%' GROUP BY status`,
    [failing],
  );
  const became = Object.fromEntries(rows.map((row) => [row.status, row.jobs]));
  const tookS = (endedAt - startedAt) / 1000;
  yield {
    what: 'its jobs are cancelled behind, and its lane is gone',
    figure: `${(became['cancelled'] ?? 0).toLocaleString('en')} in ${tookS.toFixed(0)} s, ${became['pending'] ?? 0} pending`,
    bound: `none pending within ${CLEAN_UP_BOUND_S} s`,
    ok:
      became['pending'] === undefined &&
      (became['cancelled'] ?? 0) > 0 &&
      tookS <= CLEAN_UP_BOUND_S,
  };
  const ratio = p99(beside) / p99(alone);
  yield {
    what: 'light webhooks of other hooks meanwhile, commit to receipt: p99 to the p99 before and after',
    figure: `${ratio.toFixed(2)} × ${p99(alone).toFixed(1)} ms`,
    bound: `≤ ${RATIO_BOUND} ×`,
    ok: ratio <= RATIO_BOUND,
  };
}

/** @returns when the last pending job was cancelled, and its lane was gone */
function untilGone(pool: Pool, hookId: number): Promise<number> {
  return waitUntil(
    async () => {
      const { rows } = await pool.query<{ left: boolean }>(
        `SELECT EXISTS (SELECT FROM delivery_cancellation)
           OR EXISTS (SELECT FROM delivery_lane_key WHERE lane = 'hook:' || $1::bigint) AS left`,
        [hookId],
      );
      return rows[0]?.left === false && performance.now();
    },
    { what: 'the clean-up to end', timeoutMs: 2_000 * CLEAN_UP_BOUND_S, everyMs: 1_000 },
  );
}

async function start(stops: Stops): Promise<World> {
  const { url: databaseUrl } = await startProofDatabase(stops);
  const pool = openPool(databaseUrl, 10);
  stops.add(() => pool.end());
  await (await createDeliverySeed(databaseUrl)).close();
  const receiver = await startLoadReceiver(stops);
  const token = await addPerson(pool, 'ada');
  const { url } = await startProofApi(stops, databaseUrl);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  stops.add(() => agent.destroy());
  const [healthy, failing] = await addTwoHooks(pool, receiver.after(2_000, 'failing'));
  await makeHistoryDays(pool, DAYS);
  const history = { attempts: ATTEMPTS, days: DAYS };
  await addHistory(pool, {
    ...{ ...history, hookId: healthy, otherHooks: OTHER_HOOKS },
    ...{ rare: 'failed', rareOneIn: RARE_ONE_IN.failed },
  });
  await addHistory(pool, {
    ...{ ...history, hookId: failing, after: ATTEMPTS * (OTHER_HOOKS + 2) },
    ...{ rare: 'delivered', rareOneIn: RARE_ONE_IN.delivered },
  });
  await analyzeHistory(pool);
  const hooks = `${url}/api/repos/ada/engine/hooks`;
  return { pool, databaseUrl, receiver, agent, token, url: hooks, healthy, failing };
}

async function addTwoHooks(pool: Pool, url: string): Promise<[number, number]> {
  const { rows } = await pool.query<{ id: string }>(
    `WITH made AS (INSERT INTO repository (owner_id, name) SELECT id, 'engine' FROM account WHERE login = 'ada' RETURNING id)
     INSERT INTO hook (repository_id, url, events) SELECT id, $1, '{*}' FROM made, generate_series(1, 2) RETURNING id`,
    [url],
  );
  await addSecrets(
    pool,
    rows.map(({ id }) => id),
  );
  const [healthy, failing] = rows.map(({ id }) => Number(id));
  if (healthy === undefined || failing === undefined) throw new Error('No hooks were made');
  return [healthy, failing];
}
