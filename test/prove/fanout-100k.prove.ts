import { readFile } from 'node:fs/promises';
import { Agent } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from '@ghost/db';

import {
  addPerson,
  openThreads,
  type ProofRow,
  row,
  startProofApi,
  startProofDatabase,
} from '../support/proof-world.js';
import { COLLECTING, heldMemoryOf } from '../support/held-memory-of.js';
import type { RunningProcess } from '../support/processes.js';
import { median } from '../support/quantile.js';
import { type Stops, withStops } from '../support/stops.js';
import { timedRequest } from '../support/timed-request.js';
import { waitUntil } from '../support/wait-until.js';

export const name = 'A comment to 100,000 watchers costs its author and everybody else nothing';

const WATCHERS = 100_000;
const FEW_WATCHERS = 10;
const MAIL_DOMAINS = 50;
/** Enough for a median that repeats within some percent. */
const POSTS = 200;
const WARM_UP_POSTS = 100;
const HELD_PAGES = 4;
const POSTS_BETWEEN_LOOKS = 10;
const MEMORY_EVERY_MS = 50;
const FANOUT_WITHIN_MS = 180_000;

const POST_RATIO_BOUND = 1.2;
const POST_DURING_RATIO_BOUND = 1.5;
const LOOP_DELAY_P99_BOUND_MS = 20;
const JOBS_PER_SECOND_BOUND = 3000;
const WAL_BYTES_PER_READER_BOUND = 1024;
const RESIDENT_BOUND_MB = 50;
/** Between the thirds are some 67,000 readers: to keep the id of each job would be 4 MB. */
const HELD_BOUND_MB = 3;
const LOOK_EVERY_MS = 500;
const LEAST_LOOKS = 9;
const BYTES_PER_MB = 1024 * 1024;

const COMMENT = `Measured on two cores, see the table.\n\n${'| a | b |\n| --- | --- |\n'.repeat(20)}`;

interface World {
  pool: Pool;
  api: { process: RunningProcess; url: string };
  post: Poster;
}

/** Posts a comment to the thread of a repository; the milliseconds to the end of the answer. */
type Poster = (repository: 'few' | 'many') => Promise<number>;

/** Runs the whole proof on a durable server of its own, and prints what it measured. */
export function run(): AsyncGenerator<ProofRow> {
  return withStops(async function* (stops) {
    const world = await start(stops);
    await postsToFew(world, WARM_UP_POSTS);
    yield* postingIsIndependentOfWatchers(world);
    yield* fanOutIsFastAndSmall(world);
    yield* fanOutDisturbsNobody(world);
    yield* nothingIsKeptOfReaders(world);
  });
}

/** In turns, so that whatever else the machine does hits both alike; fan-out waits meanwhile. */
async function* postingIsIndependentOfWatchers(world: World): AsyncGenerator<ProofRow> {
  const few: number[] = [];
  const many: number[] = [];
  await withFanOutHeld(world, async () => {
    for (let n = 0; n < POSTS; n += 1) {
      few.push(await world.post('few'));
      many.push(await world.post('many'));
    }
  });
  await untilIdle(world.pool);
  const ratio = median(many) / median(few);
  yield row(
    'posting to 100,000 watchers, to the median with 10',
    `${ratio.toFixed(2)} × ${median(few).toFixed(1)} ms`,
    `≤ ${POST_RATIO_BOUND} ×`,
    ratio <= POST_RATIO_BOUND,
  );
}

async function* fanOutIsFastAndSmall(world: World): AsyncGenerator<ProofRow> {
  const few = await fanOut(world, 'few');
  const many = await fanOut(world, 'many');
  const perSecond = WATCHERS / many.seconds;
  const perReader = (many.walBytes - few.walBytes) / (WATCHERS - FEW_WATCHERS);
  yield row(
    'jobs enqueued per second',
    Math.round(perSecond).toLocaleString('en'),
    `≥ ${JOBS_PER_SECOND_BOUND.toLocaleString('en')}`,
    perSecond >= JOBS_PER_SECOND_BOUND,
  );
  yield row(
    'WAL for each further reader, without full-page images',
    `${Math.round(perReader)} bytes`,
    `≤ ${WAL_BYTES_PER_READER_BOUND} bytes`,
    perReader <= WAL_BYTES_PER_READER_BOUND,
  );
}

async function* fanOutDisturbsNobody(world: World): AsyncGenerator<ProofRow> {
  // V8 lets garbage lie up to a bound that what was in use at its last large collection sets, and that may be long ago.
  await heldMemoryOf(world.api.process);
  // They also give the young generation back the room that it has under load.
  const before = await postsToFew(world, POSTS);
  const meanwhile = await postsDuringFanOut(world);
  const after = await postsToFew(world, POSTS);
  const alone = median([...before, ...after]);
  const ratio = median(meanwhile.posts) / alone;
  yield row(
    `posting while the fan-out runs (${meanwhile.posts.length} posts), to the median without`,
    `${ratio.toFixed(2)} × ${alone.toFixed(1)} ms`,
    `≤ ${POST_DURING_RATIO_BOUND} ×`,
    ratio <= POST_DURING_RATIO_BOUND,
  );
  const perSecond = WATCHERS / meanwhile.seconds;
  yield row(
    'jobs enqueued per second meanwhile',
    Math.round(perSecond).toLocaleString('en'),
    `≥ ${JOBS_PER_SECOND_BOUND.toLocaleString('en')}`,
    perSecond >= JOBS_PER_SECOND_BOUND,
  );
  yield row(
    "the API's event-loop delay meanwhile, p99",
    `${meanwhile.loopDelayMs.toFixed(1)} ms`,
    `≤ ${LOOP_DELAY_P99_BOUND_MS} ms`,
    meanwhile.loopDelayMs <= LOOP_DELAY_P99_BOUND_MS,
  );
  yield row(
    "the API's resident memory meanwhile, above before",
    `${meanwhile.memoryMb.toFixed(0)} MB`,
    `≤ ${RESIDENT_BOUND_MB} MB`,
    meanwhile.memoryMb <= RESIDENT_BOUND_MB,
  );
}

/** What is in use while a huge fan-out runs, garbage left out: the same near its end as near its beginning. */
async function* nothingIsKeptOfReaders({ pool, api, post }: World): AsyncGenerator<ProofRow> {
  await post('many');
  const event = await newestEvent(pool);
  const held: number[] = [];
  const giveUpAt = performance.now() + FANOUT_WITHIN_MS;
  while (!(await isProcessed(pool, event))) {
    held.push((await heldMemoryOf(api.process)).held);
    if (performance.now() > giveUpAt) throw new Error('The fan-out did not end');
    await delay(LOOK_EVERY_MS);
  }
  if (held.length < LEAST_LOOKS) throw new Error(`The fan-out was looked at ${held.length} times`);
  const third = Math.floor(held.length / 3);
  // The least: at some looks a page is in hand.
  const early = Math.min(...held.slice(0, third)) / BYTES_PER_MB;
  const grownMb = Math.min(...held.slice(-third)) / BYTES_PER_MB - early;
  yield row(
    'what the API holds in the last third of 100,000 readers, above the first',
    `${grownMb.toFixed(1)} MB to ${early.toFixed(0)} MB`,
    `≤ ${HELD_BOUND_MB} MB`,
    grownMb <= HELD_BOUND_MB,
  );
}

interface Meanwhile {
  posts: number[];
  seconds: number;
  loopDelayMs: number;
  memoryMb: number;
}

/** Posts to the small repository, one after the other, from the start of a huge fan-out to its end. */
async function postsDuringFanOut({ pool, api, post }: World): Promise<Meanwhile> {
  const memoryBefore = await residentMb(api.process.pid);
  let memoryPeak = memoryBefore;
  const sampling = setInterval(() => {
    void residentMb(api.process.pid).then((mb) => {
      memoryPeak = Math.max(memoryPeak, mb);
    });
  }, MEMORY_EVERY_MS);
  try {
    await loopDelayP99Ms(api.url);
    const startedAt = performance.now();
    await post('many');
    const event = await newestEvent(pool);
    const posts: number[] = [];
    while (!(await isProcessed(pool, event))) {
      for (let n = 0; n < POSTS_BETWEEN_LOOKS; n += 1) posts.push(await post('few'));
      if (performance.now() - startedAt > FANOUT_WITHIN_MS)
        throw new Error('The fan-out did not end');
    }
    const seconds = (performance.now() - startedAt) / 1000;
    const loopDelayMs = await loopDelayP99Ms(api.url);
    return { posts, seconds, loopDelayMs, memoryMb: memoryPeak - memoryBefore };
  } finally {
    clearInterval(sampling);
  }
}

async function start(stops: Stops): Promise<World> {
  // Without full-page images, which are not counted.
  const settings = { full_page_writes: 'off', shared_buffers: '256MB', max_wal_size: '4GB' };
  const { url, pool } = await startProofDatabase(stops, settings);
  const token = await addPerson(pool, 'owner');
  await fill(pool);
  const api = await startProofApi(stops, url, COLLECTING);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  stops.add(() => agent.destroy());
  const post: Poster = (repository) =>
    timedRequest({
      method: 'POST',
      url: `${api.url}/api/repos/owner/${repository}/threads/1/comments`,
      agent,
      token,
      body: JSON.stringify({ body: COMMENT }),
      status: 201,
    });
  return { pool, api, post };
}

/** Two repositories with a thread each, and people who watch them. */
async function fill(pool: Pool): Promise<void> {
  await pool.query(
    `WITH made AS (
       INSERT INTO account (login, name)
       SELECT 'reader-' || n, 'Reader ' || n FROM generate_series(1, $1::int) n
       RETURNING id, split_part(login, '-', 2)::int AS n
     )
     INSERT INTO email_address (account_id, address, is_primary, verified_at)
     SELECT id, 'reader' || n || '@mail' || n % $2 || '.example', true, now() FROM made`,
    [WATCHERS, MAIL_DOMAINS],
  );
  await pool.query(
    `INSERT INTO repository (owner_id, name) SELECT id, unnest(ARRAY['few', 'many']) FROM account WHERE login = 'owner'`,
  );
  await openThreads(pool, 'How many can follow one thread?');
  await pool.query(
    `INSERT INTO watch (repository_id, account_id)
     SELECT r.id, a.id FROM repository r, account a
     WHERE a.login LIKE 'reader-%' AND (r.name = 'many' OR a.id <= (SELECT min(id) + $1 - 1 FROM account WHERE login LIKE 'reader-%'))`,
    [FEW_WATCHERS],
  );
  await pool.query('VACUUM ANALYZE');
}

/** Latencies of posts, with their own small fan-outs under way. */
async function postsToFew(world: World, count: number): Promise<number[]> {
  const took: number[] = [];
  for (let n = 0; n < count; n += 1) took.push(await world.post('few'));
  await untilIdle(world.pool);
  return took;
}

/** Pages wait for the repository's row, as for a loss of access; requests do not. */
async function withFanOutHeld({ pool, post }: World, work: () => Promise<void>): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query('BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0');
    await client.query('SELECT FROM repository FOR UPDATE');
    // As many small events as pages run at once: what is posted after them is not started.
    for (let n = 0; n < HELD_PAGES; n += 1) await post('few');
    await work();
    await callOffUnstarted(pool);
    await client.query('ROLLBACK');
  } finally {
    client.release();
  }
}

async function callOffUnstarted(pool: Pool): Promise<void> {
  await pool.query(
    `UPDATE outbox_progress SET done_at = now() WHERE (event_id, consumer) IN (
       SELECT event_id, consumer FROM outbox_progress
       WHERE done_at IS NULL AND lease_until IS NULL FOR UPDATE SKIP LOCKED
     )`,
  );
}

/** From a post to the end of its fan-out. */
async function fanOut(
  { pool, post }: World,
  repository: 'few' | 'many',
): Promise<{ seconds: number; walBytes: number }> {
  const before = await walPosition(pool);
  const startedAt = performance.now();
  await post(repository);
  await untilIdle(pool);
  const seconds = (performance.now() - startedAt) / 1000;
  return { seconds, walBytes: (await walPosition(pool)) - before };
}

async function walPosition(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ at: string }>(
    `SELECT pg_current_wal_insert_lsn() - '0/0' AS at`,
  );
  return Number(rows[0]?.at);
}

async function untilIdle(pool: Pool): Promise<void> {
  await waitUntil(
    async () => {
      const { rows } = await pool.query(
        'SELECT FROM outbox_progress WHERE done_at IS NULL LIMIT 1',
      );
      return rows.length === 0;
    },
    { timeoutMs: FANOUT_WITHIN_MS, everyMs: 5, what: 'the end of the fan-out' },
  );
}

async function newestEvent(pool: Pool): Promise<string> {
  const { rows } = await pool.query<{ id: string }>(
    'SELECT id FROM outbox_event ORDER BY created_at DESC LIMIT 1',
  );
  return String(rows[0]?.id);
}

async function isProcessed(pool: Pool, event: string): Promise<boolean> {
  const { rows } = await pool.query(
    'SELECT FROM outbox_event WHERE id = $1 AND processed_at IS NOT NULL',
    [event],
  );
  return rows.length === 1;
}

/** Since the scrape before. */
async function loopDelayP99Ms(apiUrl: string): Promise<number> {
  const response = await fetch(`${apiUrl}/metrics`);
  const text = await response.text();
  const found = /ghost_event_loop_delay_seconds\{quantile="0.99"\} (\S+)/u.exec(text);
  if (!found) throw new Error('The metrics tell no event-loop delay');
  return Number(found[1]) * 1000;
}

async function residentMb(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/u.exec(status)?.[1]) / 1024;
}
