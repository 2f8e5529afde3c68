import { setTimeout as delay } from 'node:timers/promises';

import { addJobs, addReaders, type Reader } from '../support/load/add-jobs.js';
import {
  lightMails,
  lightWebhooks,
  postComments,
  type Timing,
} from '../support/load/light-load.js';
import {
  describeTimings,
  type LoadWorld,
  p99,
  startLoadWorld,
} from '../support/load/load-world.js';
import { addHooks, closeLanes, openLanes, preloadJobs } from '../support/load/preload.js';
import { residentMb } from '../support/load/resident-mb.js';
import { progress } from '../support/progress.js';
import type { ProofRow } from '../support/proof-world.js';
import { withStops } from '../support/stops.js';

export const name =
  '5,000 hooks that accept and never answer: 200 healthy ones, mail and the API go on as before';

const HUNG_HOOKS = 5_000;
const HUNG_JOBS_EACH = 20;
const HEALTHY_HOOKS = 200;
/** More than are delivered in a window; what is left waits for the next. */
const HEALTHY_JOBS = 80_000;
const WINDOW_MS = 8_000;
const HANGING_FOR_MS = 60_000;
/** After the deadline of a webhook nothing hangs any more. */
const OVER_AFTER_MS = 12_000;
const LIGHT_MS = 25_000;
const LIGHT_PER_SECOND = 20;
const MAILS_PER_SECOND = 10;
const POSTS_PER_SECOND = 10;
const READERS = 50;
const MAIL_DOMAINS = 10;
const MEMORY_EVERY_MS = 250;

const THROUGHPUT_BOUND = 0.8;
const LATENCY_BOUND = 1.5;
/** As beside a hog: the claims that look at hung lanes too take a little longer. */
const LIGHT_BOUND = 2;
const MEMORY_BOUND_MB = 100;

interface Scene {
  world: LoadWorld;
  busyIds: number[];
  lightIds: number[];
  readers: Reader[];
}

interface Seen {
  perSecond: number;
  light: Timing[];
  mails: Timing[];
  posts: Timing[];
}

export function run(): AsyncGenerator<ProofRow> {
  return withStops(async function* (stops) {
    const world = await startLoadWorld(stops);
    const { pool, receiver, delivery } = world;
    const busyIds = await addHooks(pool, HEALTHY_HOOKS, (n) => receiver.after(0, `busy-${n}`));
    const lightIds = await addHooks(pool, HEALTHY_HOOKS, (n) => receiver.after(0, `light-${n}`));
    const hungIds = await addHooks(pool, HUNG_HOOKS, (n) => receiver.never(`hung-${n}`));
    const readers = await addReaders(pool, READERS, MAIL_DOMAINS);
    const scene: Scene = { world, busyIds, lightIds, readers };
    await preloadJobs(pool, { hookIds: hungIds, jobs: HUNG_HOOKS * HUNG_JOBS_EACH });
    await addJobs(pool, lightIds);
    await measure(scene, 'warm-up');

    const before = await measure(scene, 'before');
    const memory = watchMemory(delivery.pid);
    const memoryBefore = await residentMb(delivery.pid);
    await openLanes(pool, hungIds);
    await lightLoads(scene, HANGING_FOR_MS);
    const beside = await measure(scene, 'beside');
    const memoryPeak = memory();
    const hung = await pool.query<{ tried: number; inFlight: number }>(
      `SELECT count(*) FILTER (WHERE tries > 0)::int AS tried, count(*) FILTER (WHERE lease_until > now())::int AS "inFlight"
       FROM delivery_job WHERE hook_id = ANY ($1)`,
      [hungIds],
    );
    await closeLanes(pool, hungIds);
    await delay(OVER_AFTER_MS);
    const after = await measure(scene, 'after');

    yield* judge(before, beside, after);
    yield {
      what: "delivery's memory, its peak above before",
      figure: `${(memoryPeak - memoryBefore).toFixed(0)} MB`,
      bound: `≤ ${MEMORY_BOUND_MB} MB`,
      ok: memoryPeak - memoryBefore <= MEMORY_BOUND_MB,
    };
    const { tried = 0, inFlight = 0 } = hung.rows[0] ?? {};
    yield {
      what: 'jobs of hung hooks that were tried, and in flight at the end',
      figure: `${tried}, ${inFlight}`,
      bound: 'some',
      ok: tried > 0 && inFlight > 0,
    };
  });
}

function* judge(before: Seen, beside: Seen, after: Seen): Generator<ProofRow> {
  const alone = (before.perSecond + after.perSecond) / 2;
  const share = beside.perSecond / alone;
  yield {
    what: 'healthy jobs/s after 60 s beside them, to those without',
    figure: `${share.toFixed(2)} × ${Math.round(alone).toLocaleString('en')}`,
    bound: `≥ ${THROUGHPUT_BOUND} ×`,
    ok: share >= THROUGHPUT_BOUND,
  };
  for (const [what, of, bound] of [
    ['mails, commit to their catcher', (seen: Seen) => seen.mails, LATENCY_BOUND],
    ['POST of a comment', (seen: Seen) => seen.posts, LATENCY_BOUND],
    ['healthy webhooks, commit to receipt', (seen: Seen) => seen.light, LIGHT_BOUND],
  ] as const) {
    const base = p99([...of(before), ...of(after)]);
    const ratio = p99(of(beside)) / base;
    yield {
      what: `${what}, p99 to the p99 without`,
      figure: `${ratio.toFixed(2)} × ${base.toFixed(0)} ms`,
      bound: `≤ ${bound} ×`,
      ok: ratio <= bound,
    };
  }
}

/** First how much goes through, then how long little takes. */
async function measure(scene: Scene, when: string): Promise<Seen> {
  const perSecond = await throughput(scene);
  const loads = await lightLoads(scene, LIGHT_MS);
  progress(
    `${when}: ${Math.round(perSecond)} jobs/s; light ${describeTimings(loads.light)}; mails ${describeTimings(loads.mails)}; posts ${describeTimings(loads.posts)}`,
  );
  return { perSecond, ...loads };
}

/** Deliveries a second to the healthy hooks, with more due than can be delivered. */
async function throughput({ world: { pool, receiver }, busyIds }: Scene): Promise<number> {
  const { rows } = await pool.query<{ left: number }>(
    `SELECT count(*)::int AS left FROM delivery_job WHERE status = 'pending' AND hook_id = ANY ($1)`,
    [busyIds],
  );
  await preloadJobs(pool, { hookIds: busyIds, jobs: HEALTHY_JOBS - (rows[0]?.left ?? 0) });
  await receiver.forget();
  await openLanes(pool, busyIds);
  await delay(WINDOW_MS);
  const { arrivals } = await receiver.report();
  await closeLanes(pool, busyIds);
  return (arrivals.filter(([, key]) => key.startsWith('busy-')).length * 1000) / WINDOW_MS;
}

async function lightLoads(
  { world, lightIds: hookIds, readers }: Scene,
  forMs: number,
): Promise<Omit<Seen, 'perSecond'>> {
  const { pool, receiver, mails: catcher, post } = world;
  await receiver.forget();
  const [light, mails, posts] = await Promise.all([
    lightWebhooks({ pool, receiver, hookIds, perSecond: LIGHT_PER_SECOND }, forMs),
    lightMails({ pool, mails: catcher, readers, perSecond: MAILS_PER_SECOND }, forMs),
    postComments(post, POSTS_PER_SECOND, forMs),
  ]);
  return { light, mails, posts };
}

/** Looks again and again until it is asked for the most it saw. */
function watchMemory(pid: number): () => number {
  let peak = 0;
  const timer = setInterval(() => {
    void residentMb(pid).then((mb) => {
      peak = Math.max(peak, mb);
    });
  }, MEMORY_EVERY_MS);
  return () => {
    clearInterval(timer);
    return peak;
  };
}
