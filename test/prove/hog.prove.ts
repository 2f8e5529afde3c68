import { setTimeout as delay } from 'node:timers/promises';

import { addJobs } from '../support/load/add-jobs.js';
import { lightWebhooks, postComments, type Timing } from '../support/load/light-load.js';
import {
  describeTimings,
  type LoadWorld,
  p99,
  startLoadWorld,
} from '../support/load/load-world.js';
import {
  addHooks,
  closeLanes,
  openLanes,
  preloadJobs,
  untilWritten,
} from '../support/load/preload.js';
import { progress } from '../support/progress.js';
import type { ProofRow } from '../support/proof-world.js';
import { withStops } from '../support/stops.js';

export const name =
  'A million due jobs for a receiver that takes 5 s: 1,000 other lanes and the API do not notice';

const HOG_JOBS = 1_000_000;
const HOG_ANSWERS_AFTER_MS = 5_000;
const LANE_SLOTS = 10;
const LIGHT_LANES = 1_000;
const LIGHT_PER_SECOND = 50;
const POSTS_PER_SECOND = 10;
const LOADED_MS = 60_000;
const ALONE_MS = 40_000;
const AFTER_MS = 20_000;
const FIRST_MS = 5_000;

const LIGHT_RATIO_BOUND = 2;
const LIGHT_MORE_BOUND_MS = 25;
const POST_RATIO_BOUND = 1.5;

interface Seen {
  light: Timing[];
  posts: Timing[];
}

export function run(): AsyncGenerator<ProofRow> {
  return withStops(async function* (stops) {
    const world = await startLoadWorld(stops);
    const { pool, receiver } = world;
    const lightIds = await addHooks(pool, LIGHT_LANES, (n) => receiver.after(0, `light-${n}`));
    const hogIds = await addHooks(pool, 1, () => receiver.after(HOG_ANSWERS_AFTER_MS, 'hog'));
    // Every lane has had a success, as after a while in production.
    await addJobs(pool, lightIds);
    await measure(world, lightIds, FIRST_MS);

    const before = await measure(world, lightIds, ALONE_MS);
    progress(
      `before: light ${describeTimings(before.light)}; posts ${describeTimings(before.posts)}`,
    );
    const startedAt = performance.now();
    await preloadJobs(pool, { hookIds: hogIds, jobs: HOG_JOBS });
    progress(`1,000,000 jobs in ${((performance.now() - startedAt) / 1000).toFixed(0)} s`);
    // What writing a million rows costs is the writer's: their checkpoint and
    // their first vacuum end first, and pages are written in full once after it.
    await untilWritten(pool);
    await measure(world, lightIds, AFTER_MS);
    await openLanes(pool, hogIds);
    const beside = await measure(world, lightIds, LOADED_MS);
    const { peaks, arrivals } = await receiver.report();
    progress(
      `beside: light ${describeTimings(beside.light)}; posts ${describeTimings(beside.posts)}`,
    );
    // What is left of it, held, may cost nobody either.
    await closeLanes(pool, hogIds);
    await delay(HOG_ANSWERS_AFTER_MS + 1_000);
    const after = await measure(world, lightIds, AFTER_MS);
    progress(`after: light ${describeTimings(after.light)}; posts ${describeTimings(after.posts)}`);

    yield* judge(before, beside, after);
    const hog = arrivals.filter(([, key]) => key === 'hog').length;
    yield {
      what: 'requests that the slow receiver had, and the most at once',
      figure: `${hog}, ${peaks['hog'] ?? 0}`,
      bound: `some, ≤ ${LANE_SLOTS}`,
      ok: hog > 0 && (peaks['hog'] ?? 0) <= LANE_SLOTS,
    };
  });
}

function* judge(alone: Seen, beside: Seen, after: Seen): Generator<ProofRow> {
  const most = Math.max(
    p99(alone.light) * LIGHT_RATIO_BOUND,
    p99(alone.light) + LIGHT_MORE_BOUND_MS,
  );
  const bound = `≤ ${most.toFixed(0)} ms (${LIGHT_RATIO_BOUND} × ${p99(alone.light).toFixed(0)} ms, or + ${LIGHT_MORE_BOUND_MS})`;
  const row = (what: string, timings: readonly Timing[]): ProofRow => ({
    what,
    figure: `${p99(timings).toFixed(0)} ms`,
    bound,
    ok: p99(timings) <= most,
  });
  yield row('light webhooks beside it, commit to receipt, p99 of 60 s', beside.light);
  yield row(
    'the same in the first 5 s alone',
    beside.light.filter(({ atMs }) => atMs < FIRST_MS),
  );
  yield row('the same once its lane is held, 1,000,000 jobs waiting', after.light);
  const ratio = p99(beside.posts) / p99(alone.posts);
  yield {
    what: 'POST of a comment beside it, p99 to the p99 without',
    figure: `${ratio.toFixed(2)} × ${p99(alone.posts).toFixed(1)} ms`,
    bound: `≤ ${POST_RATIO_BOUND} ×`,
    ok: ratio <= POST_RATIO_BOUND,
  };
}

async function measure(world: LoadWorld, hookIds: readonly number[], forMs: number): Promise<Seen> {
  const { pool, receiver, post } = world;
  await receiver.forget();
  const [light, posts] = await Promise.all([
    lightWebhooks({ pool, receiver, hookIds, perSecond: LIGHT_PER_SECOND }, forMs),
    postComments(post, POSTS_PER_SECOND, forMs),
  ]);
  return { light, posts };
}
