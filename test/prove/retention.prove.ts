import { setTimeout as delay } from 'node:timers/promises';

import { countPrunable, prune, type PruneCounts, type Pruned } from '@ghost/operations';

import { addJobs } from '../support/load/add-jobs.js';
import { lightWebhooks, postComments, type Timing } from '../support/load/light-load.js';
import {
  describeTimings,
  type LoadWorld,
  p99,
  startLoadWorld,
} from '../support/load/load-world.js';
import { addHooks, untilWritten } from '../support/load/preload.js';
import { addOldAttempts, addOldEvents, countRows } from '../support/old-rows.js';
import { progress } from '../support/progress.js';
import type { ProofRow } from '../support/proof-world.js';
import { withStops } from '../support/stops.js';

export const name =
  '2,000,000 old rows are pruned under live load, killed half-way and resumed: deliveries do not notice';

const EVENTS = 250_000;
const EVENTS_AT_ONCE = 10_000;
const JOBS_AN_EVENT = 2;
/** An event, two of its progress, its content, two jobs, one skip. */
const ROWS_AN_EVENT = 7;
const ATTEMPTS_OF_DAYS = 150_000;
const ATTEMPTS_BESIDE = 100_000;
const ATTEMPT_DAYS = 3;
const KEPT = 1_000;

const DAYS = 30;
const LANES = 200;
const LIGHT_PER_SECOND = 50;
const POSTS_PER_SECOND = 10;
const WARM_MS = 10_000;
const ALONE_MS = 60_000;
/** Load goes on in pieces of so long until all is pruned; what was sent later does not count. */
const PIECE_MS = 20_000;
const MOST_PIECES = 30;
const NAME = 'prove retention';
/** Of the steps that ended while the server was asked to kill, nobody heard. */
const UNCOUNTED = 3_000;
const RATIO_BOUND = 1.5;

interface Seen {
  light: Timing[];
  posts: Timing[];
}

interface PrunedAll {
  beforeKill: PruneCounts;
  killed: boolean;
  halfFannedOut: number;
  both: Pruned[];
  tookMs: number;
}

export function run(): AsyncGenerator<ProofRow> {
  return withStops(async function* (stops) {
    // The API's own runner must find nothing: this proof starts its runners by itself.
    const world = await startLoadWorld(stops, { GHOST_RETENTION_DAYS: '3650' });
    const { pool, receiver } = world;
    const hookIds = await addHooks(pool, LANES, (n) => receiver.after(0, `light-${n}`));
    await addJobs(pool, hookIds);
    const kept = await fill(world);
    await untilWritten(pool);
    const wanted = await countPrunable(pool, DAYS);
    const keptBefore = await countRows(pool, kept);
    progress(`to prune: ${JSON.stringify(wanted)}`);
    await measure(world, hookIds, WARM_MS);

    const alone = await measure(world, hookIds, ALONE_MS);
    progress(`alone: light ${describeTimings(alone.light)}; posts ${describeTimings(alone.posts)}`);
    const pruning = pruneAll(world, kept);
    const beside: Seen = { light: [], posts: [] };
    let endedAt = Number.POSITIVE_INFINITY;
    const end = () => {
      endedAt = performance.now();
    };
    void pruning.then(end, end);
    for (let piece = 0; piece < MOST_PIECES && endedAt === Number.POSITIVE_INFINITY; piece += 1) {
      const startedAt = performance.now();
      const seen = await measure(world, hookIds, PIECE_MS);
      const during = ({ atMs }: Timing) => startedAt + atMs <= endedAt;
      beside.light.push(...seen.light.filter(during));
      beside.posts.push(...seen.posts.filter(during));
    }
    const pruned = await pruning;
    progress(
      `beside: light ${describeTimings(beside.light)}; posts ${describeTimings(beside.posts)}`,
    );
    yield* judgeRows(pruned, wanted);
    yield* judgeLoad(alone, beside);
    const left = await countPrunable(pool, DAYS);
    const keptAfter = await countRows(pool, kept);
    yield {
      what: 'old rows left; rows kept of unprocessed and pending events',
      figure: `${total(left)}; ${total({ ...keptAfter })} of ${total({ ...keptBefore })}`,
      bound: '0; all',
      ok: total(left) === 0 && JSON.stringify(keptAfter) === JSON.stringify(keptBefore),
    };
  });
}

/** @returns the events that must stay */
async function fill({ pool }: LoadWorld): Promise<string[]> {
  const startedAt = performance.now();
  for (let made = 0; made < EVENTS; made += EVENTS_AT_ONCE) {
    const events = Math.min(EVENTS_AT_ONCE, EVENTS - made);
    await addOldEvents(pool, { events, daysAgo: 31, jobs: JOBS_AN_EVENT, skips: 1 });
  }
  for (let day = 0; day < ATTEMPT_DAYS; day += 1) {
    const attempts = Math.round(ATTEMPTS_OF_DAYS / ATTEMPT_DAYS);
    await addOldAttempts(pool, { attempts, daysAgo: 32 + day, day: true });
  }
  await addOldAttempts(pool, { attempts: ATTEMPTS_BESIDE, daysAgo: 60 });
  const kept = [
    ...(await addOldEvents(pool, { events: KEPT, daysAgo: 31, jobs: 2, processed: false })),
    ...(await addOldEvents(pool, { events: KEPT, daysAgo: 31, jobs: 2, status: 'pending' })),
  ];
  await pool.query('ANALYZE');
  progress(`rows written in ${((performance.now() - startedAt) / 1000).toFixed(0)} s`);
  return kept;
}

/** One runner that is killed half-way, then two at once. */
async function pruneAll({ pool, databaseUrl }: LoadWorld, kept: string[]): Promise<PrunedAll> {
  const startedAt = performance.now();
  const options = { databaseUrl, name: NAME, days: DAYS };
  let beforeKill: PruneCounts | undefined;
  let killed = false;
  try {
    await prune({
      ...options,
      onStep: (counts) => {
        if (killed || counts.events < EVENTS / 2) return;
        killed = true;
        beforeKill = { ...counts };
        void pool.query(
          'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1',
          [NAME],
        );
      },
    });
    killed = false;
  } catch (error) {
    if (!killed) throw error;
  }
  const halfFannedOut = await pool.query<{ n: number }>(
    `SELECT count(*)::int AS n FROM outbox_progress p JOIN outbox_event e ON e.id = p.event_id
     WHERE p.done_at IS NULL AND e.created_at < now() - interval '30 days' AND NOT e.id = ANY ($1)
       AND (SELECT count(*) FROM delivery_job j WHERE j.event_id = e.id) < 2`,
    [kept],
  );
  // The server ends a killed session in its own time, and with it the lock.
  await delay(1_000);
  let last = 0;
  const first = prune({
    ...options,
    onStep: ({ events }) => {
      if (events - last < EVENTS / 10) return;
      last = events;
      progress(`${events} more events pruned`);
    },
  });
  await delay(500);
  const both = await Promise.all([prune(options), first]);
  const tookMs = performance.now() - startedAt;
  if (beforeKill === undefined) throw new Error('It ended before it could be killed half-way');
  return { beforeKill, killed, halfFannedOut: halfFannedOut.rows[0]?.n ?? -1, both, tookMs };
}

function* judgeRows(pruned: PrunedAll, wanted: PruneCounts): Generator<ProofRow> {
  const { beforeKill, killed, halfFannedOut, both, tookMs } = pruned;
  const [second, first] = both;
  const rest = first?.result === 'busy' || first === undefined ? null : first.counts;
  const events = beforeKill.events + (rest?.events ?? 0);
  const rows = Math.round(EVENTS * ROWS_AN_EVENT + ATTEMPTS_OF_DAYS + ATTEMPTS_BESIDE);
  yield {
    what: `${rows.toLocaleString('en')} rows in all, events pruned (by the first, after the kill)`,
    figure: `${beforeKill.events}, ${rest?.events ?? 0}`,
    bound: `≤ ${wanted.events}, ≥ ${wanted.events - UNCOUNTED}`,
    ok: killed && rest !== null && events <= wanted.events && events >= wanted.events - UNCOUNTED,
  };
  yield {
    what: 'how long it took, with the kill',
    figure: `${(tookMs / 1000).toFixed(0)} s`,
    bound: '≤ 600 s',
    ok: tookMs <= 600_000,
  };
  yield {
    what: 'a second runner meanwhile',
    figure: second?.result ?? 'none',
    bound: 'busy',
    ok: second?.result === 'busy',
  };
  yield {
    what: 'events at the kill that lack jobs and could be fanned out',
    figure: String(halfFannedOut),
    bound: '0',
    ok: halfFannedOut === 0,
  };
}

function* judgeLoad(alone: Seen, beside: Seen): Generator<ProofRow> {
  for (const [what, before, during] of [
    ['light webhooks meanwhile, commit to receipt', alone.light, beside.light],
    ['POST of a comment meanwhile', alone.posts, beside.posts],
  ] as const) {
    const ratio = p99(during) / p99(before);
    yield {
      what: `${what}: p99 to the p99 without`,
      figure: `${ratio.toFixed(2)} × ${p99(before).toFixed(1)} ms`,
      bound: `≤ ${RATIO_BOUND} ×`,
      ok: ratio <= RATIO_BOUND,
    };
  }
}

function total(counts: Readonly<Record<string, number>> | PruneCounts): number {
  return Object.values(counts).reduce((sum: number, n: number) => sum + n, 0);
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
