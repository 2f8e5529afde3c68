import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import type * as resolverSource from '../../apps/delivery/src/net/resolver.js';
import { addJobs } from '../support/load/add-jobs.js';
import { lightWebhooks, type Timing } from '../support/load/light-load.js';
import { describeTimings, p99, startLoadWorld } from '../support/load/load-world.js';
import { openLoop } from '../support/load/open-loop.js';
import { addHooks, closeLanes, openLanes, preloadJobs } from '../support/load/preload.js';
import { loadSource } from '../support/load-source.js';
import { startProcess } from '../support/processes.js';
import { progress } from '../support/progress.js';
import type { ProofRow } from '../support/proof-world.js';
import { quantile } from '../support/quantile.js';
import { type Stops, withStops } from '../support/stops.js';

export const name = 'Names that are never answered keep no other waiting: webhooks, and look-ups';

const DEAD_HOOKS = 200;
const DEAD_JOBS_EACH = 20;
const HEALTHY_HOOKS = 200;
/** Each healthy hook has its turn every 5 s: no connection is kept so long, so each is looked up. */
const HEALTHY_PER_SECOND = 40;
const WINDOW_MS = 15_000;
/** Windows without and with such hooks take turns: what else the machine does then falls on both. */
const TURNS = 2;
/** After the deadline of a webhook nothing hangs any more. */
const OVER_AFTER_MS = 11_000;
const LATENCY_BOUND = 2;

const DEAD_NAMES = 10_000;
const ASKED_AT_ONCE = 50;
const LOOK_UPS_MS = 8_000;
const LOOK_UPS_PER_SECOND = 100;
/**
 * A turn of the event loop in which all that are due are asked again, on a busy machine. One that waited for dead names
 * would take seconds: without the limits a name did beside 2,000 of them.
 */
const LOOK_UP_BOUND_MS = 250;
const MOST_UNDER_WAY = 600;

export function run(): AsyncGenerator<ProofRow> {
  return withStops(async function* (stops) {
    const server = await startDns(stops);
    yield* lookUps(stops, server);
    yield* webhooks(stops, server);
  });
}

async function* webhooks(stops: Stops, server: string): AsyncGenerator<ProofRow> {
  const { pool, receiver } = await startLoadWorld(stops, { GHOST_DNS_SERVERS: server });
  const healthyIds = await addHooks(pool, HEALTHY_HOOKS, (n) =>
    receiver.after(0, `light-${n}`).replace('127.0.0.1', `healthy-${n}.example.com`),
  );
  const deadIds = await addHooks(pool, DEAD_HOOKS, (n) => `http://dead-${n}.example.com:8080/`);
  await preloadJobs(pool, { hookIds: deadIds, jobs: DEAD_HOOKS * DEAD_JOBS_EACH });
  await addJobs(pool, healthyIds);
  const light = async (when: string): Promise<Timing[]> => {
    const load = { pool, receiver, hookIds: healthyIds, perSecond: HEALTHY_PER_SECOND };
    await receiver.forget();
    const timings = await lightWebhooks(load, WINDOW_MS);
    progress(`${when}: ${describeTimings(timings)}`);
    return timings;
  };
  await light('warm-up');
  const without: Timing[] = [];
  const beside: Timing[] = [];
  for (let turn = 0; turn < TURNS; turn += 1) {
    without.push(...(await light('without')));
    await openLanes(pool, deadIds);
    beside.push(...(await light('beside')));
    await closeLanes(pool, deadIds);
    await delay(OVER_AFTER_MS);
  }
  const { rows } = await pool.query<{ tried: number; reasons: string[] }>(
    `SELECT count(*)::int AS tried, array_agg(DISTINCT a.reason) AS reasons
     FROM delivery_attempt a JOIN delivery_job j ON j.id = a.job_id WHERE j.hook_id = ANY ($1)`,
    [deadIds],
  );
  const base = p99(without);
  const ratio = p99(beside) / base;
  yield {
    what: `healthy webhooks beside ${DEAD_HOOKS} such hooks, p99 to the p99 without`,
    figure: `${ratio.toFixed(2)} × ${base.toFixed(0)} ms`,
    bound: `≤ ${LATENCY_BOUND} ×`,
    ok: ratio <= LATENCY_BOUND,
  };
  const { tried = 0, reasons = [] } = rows[0] ?? {};
  yield {
    what: 'attempts of such hooks meanwhile, and their reasons',
    figure: `${tried}, ${reasons.join(' ')}`,
    bound: `≥ ${DEAD_HOOKS}, dns_timeout`,
    ok: tried >= DEAD_HOOKS && reasons.length === 1 && reasons[0] === 'dns_timeout',
  };
}

/** The resolver by itself, asked for far more than attempts can be in flight by default. */
async function* lookUps(stops: Stops, server: string): AsyncGenerator<ProofRow> {
  const { createResolver } = await loadSource<typeof resolverSource>(
    'apps/delivery/src/net/resolver.ts',
  );
  const resolver = createResolver([server]);
  stops.add(() => resolver.close());
  await healthyLookUps(resolver);
  const before = await healthyLookUps(resolver);
  let ended = 0;
  for (let n = 0; n < DEAD_NAMES; n += 1) {
    void resolver.resolve(`dead-${n}.example.com`).then(() => (ended += 1));
    // Ours is the process that asks: a burst of this loop is none of the resolver's.
    if (n % ASKED_AT_ONCE === 0) await delay(1);
  }
  const beside = await healthyLookUps(resolver);
  const [base, p99OfBeside] = [before, beside].map(({ tookMs }) => quantile(tookMs, 0.99));
  yield {
    what: `look-ups of known names beside ${DEAD_NAMES.toLocaleString('en')} dead ones, p99 (without)`,
    figure: `${p99OfBeside?.toFixed(0)} ms (${base?.toFixed(0)} ms)`,
    bound: `≤ ${LOOK_UP_BOUND_MS} ms`,
    ok: Number(p99OfBeside) <= LOOK_UP_BOUND_MS,
  };
  yield {
    what: 'most look-ups under way at once; ended by then',
    figure: `${beside.mostUnderWay}, ${ended}`,
    bound: `≤ ${MOST_UNDER_WAY}, some`,
    ok: beside.mostUnderWay <= MOST_UNDER_WAY && ended > 0,
  };
}

async function healthyLookUps(resolver: resolverSource.Resolver) {
  const tookMs: number[] = [];
  let mostUnderWay = 0;
  await openLoop(LOOK_UPS_PER_SECOND, LOOK_UPS_MS, async (n) => {
    const startedAt = performance.now();
    const answers = await resolver.resolve(`healthy-${n % HEALTHY_HOOKS}.example.com`);
    tookMs.push(answers.found ? performance.now() - startedAt : Number.POSITIVE_INFINITY);
    mostUnderWay = Math.max(mostUnderWay, resolver.pending);
  });
  return { tookMs, mostUnderWay };
}

async function startDns(stops: Stops): Promise<string> {
  const entry = fileURLToPath(new URL('../support/load/dns-process.js', import.meta.url));
  const running = await startProcess({ name: 'dns', entry, ready: /^dns on/u });
  stops.add(() => running.stop());
  return (await running.waitForLine(/^dns on/u)).slice('dns on '.length);
}
