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
/** With and without pruning in turns, so that what else the machine does meets both. */
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

interface Pruning {
  /** Events that went, as the runners heard it. */
  events: number;
  eventsAtKill: number | null;
  /** At the kill: events that lack jobs and that a consumer could start again. */
  halfFannedOut: number;
  second: Pruned['result'] | 'none';
  ms: number;
  done: boolean;
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

    const [alone, beside]: [Seen, Seen] = [
      { light: [], posts: [] },
      { light: [], posts: [] },
    ];
    const pruning: Pruning = {
      ...{ events: 0, eventsAtKill: null, halfFannedOut: -1 },
      ...{ second: 'none', ms: 0, done: false },
    };
    for (let piece = 0; piece < MOST_PIECES && !pruning.done; piece += 1) {
      add(alone, await measure(world, hookIds, PIECE_MS), PIECE_MS);
      const stop = new AbortController();
      const startedAt = performance.now();
      const pruned = prunePiece(world, pruning, kept, stop.signal).then(
        () => performance.now() - startedAt,
      );
      const seen = await measure(world, hookIds, PIECE_MS);
      stop.abort();
      const tookMs = await pruned;
      pruning.ms += tookMs;
      add(beside, seen, tookMs);
      progress(`${pruning.events} events pruned`);
    }
    progress(`alone: light ${describeTimings(alone.light)}; posts ${describeTimings(alone.posts)}`);
    progress(
      `beside: light ${describeTimings(beside.light)}; posts ${describeTimings(beside.posts)}`,
    );
    yield* judgeRows(pruning, wanted);
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

/** Prunes until the signal; the runner that comes to the half is killed, and two at once go on. */
async function prunePiece(
  { pool, databaseUrl }: LoadWorld,
  pruning: Pruning,
  kept: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const before = pruning.events;
  const options = { databaseUrl, name: NAME, days: DAYS, signal };
  let killed = false;
  const onStep = ({ events }: Readonly<PruneCounts>) => {
    pruning.events = before + events;
    if (pruning.eventsAtKill !== null || pruning.events < EVENTS / 2) return;
    pruning.eventsAtKill = pruning.events;
    killed = true;
    void pool.query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1',
      [NAME],
    );
  };
  try {
    const pruned = await prune({ ...options, onStep });
    pruning.done = pruned.result === 'done';
  } catch (error) {
    if (!killed) throw error;
    pruning.halfFannedOut = await countHalfFannedOut(pool, kept);
    await goOnTwice(options, pruning);
  }
}

async function goOnTwice(options: Parameters<typeof prune>[0], pruning: Pruning): Promise<void> {
  // The server ends a killed session in its own time, and with it the lock.
  await delay(1_000);
  const before = pruning.events;
  const first = prune({
    ...options,
    onStep: ({ events }) => {
      pruning.events = before + events;
    },
  });
  await delay(500);
  pruning.second = (await prune(options)).result;
  pruning.done = (await first).result === 'done';
}

async function countHalfFannedOut(
  pool: LoadWorld['pool'],
  kept: readonly string[],
): Promise<number> {
  const { rows } = await pool.query<{ n: number }>(
    `SELECT count(*)::int AS n FROM outbox_progress p JOIN outbox_event e ON e.id = p.event_id
     WHERE p.done_at IS NULL AND e.created_at < now() - interval '30 days' AND NOT e.id = ANY ($1)
       AND (SELECT count(*) FROM delivery_job j WHERE j.event_id = e.id) < 2`,
    [kept],
  );
  return rows[0]?.n ?? -1;
}

function* judgeRows(pruning: Pruning, wanted: PruneCounts): Generator<ProofRow> {
  const { events, eventsAtKill, halfFannedOut, second, ms, done } = pruning;
  const rows = EVENTS * ROWS_AN_EVENT + ATTEMPTS_OF_DAYS + ATTEMPTS_BESIDE;
  yield {
    what: `${rows.toLocaleString('en')} rows in all, events pruned (at the kill, in all)`,
    figure: `${eventsAtKill ?? 'none'}, ${events}`,
    bound: `≤ ${wanted.events}, ≥ ${wanted.events - UNCOUNTED}`,
    ok:
      done &&
      eventsAtKill !== null &&
      events <= wanted.events &&
      events >= wanted.events - UNCOUNTED,
  };
  yield {
    what: 'how long it took, with the kill',
    figure: `${(ms / 1000).toFixed(0)} s`,
    bound: '≤ 600 s',
    ok: ms <= 600_000,
  };
  yield {
    what: 'a second runner meanwhile',
    figure: second,
    bound: 'busy',
    ok: second === 'busy',
  };
  yield {
    what: 'events at the kill that lack jobs and could be fanned out',
    figure: String(halfFannedOut),
    bound: '0',
    ok: halfFannedOut === 0,
  };
}

/** What was sent up to that time. */
function add(to: Seen, seen: Seen, untilMs: number): void {
  to.light.push(...seen.light.filter(({ atMs }) => atMs <= untilMs));
  to.posts.push(...seen.posts.filter(({ atMs }) => atMs <= untilMs));
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
