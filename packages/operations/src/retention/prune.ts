import { databaseErrorCode, withClient } from '@ghost/db';

import { pause } from './pause.js';
import { FIRST_ROWS, paceAfter } from './prune-pace.js';

/** Far over what a step takes: the server ends it first, the client where the server says nothing. */
const STATEMENT_WITHIN_MS = 10_000;
const ANSWER_WITHIN_MS = 15_000;
const LOCK = 'ghost_retention';
const LOCK_NOT_AVAILABLE = '55P03';
const FIRST_ID = '00000000-0000-0000-0000-000000000000';

/** What went, or would go: whole days of attempts, and rows. */
export interface PruneCounts {
  /** Held jobs whose time was over: they end, and go when they are old. */
  expired: number;
  attemptDays: number;
  /** Attempts that are in no day's partition. */
  attempts: number;
  jobs: number;
  contents: number;
  skips: number;
  events: number;
}

export type Pruned =
  /** `postponed`: somebody read old attempts, so their days could not be dropped. */
  | { result: 'done' | 'stopped'; counts: PruneCounts; postponed: boolean }
  /** Another runner is at it: nothing was done. */
  | { result: 'busy' };

export interface PruneOptions {
  /** A direct connection: behind a pooler in transaction mode the lock would stay with somebody else's. */
  databaseUrl: string;
  /** Shown in pg_stat_activity. */
  name: string;
  /** 1 to 3,650. */
  days: number;
  /** Ends it after the step under way. */
  signal?: AbortSignal;
  /** Hears after each step what went so far. */
  onStep?: (counts: Readonly<PruneCounts>) => void;
}

type Client = Parameters<Parameters<typeof withClient>[1]>[0];

interface Run {
  client: Client;
  counts: PruneCounts;
  options: PruneOptions;
}

/**
 * Ends held jobs that outlived their time, which nothing else does, and deletes what is older than `days` days: attempts by the day, jobs that ended, events that all consumers ended
 * together with the last of their jobs, and what belongs to those. One runner at a time, in steps of some 10 ms with
 * pauses; each step is committed by itself, so whoever comes after one that died goes on where it stopped.
 */
export async function prune(options: PruneOptions): Promise<Pruned> {
  const { databaseUrl, name, days } = options;
  const config = {
    connectionString: databaseUrl,
    application_name: name,
    statement_timeout: STATEMENT_WITHIN_MS,
    query_timeout: ANSWER_WITHIN_MS,
  };
  return withClient(config, async (client): Promise<Pruned> => {
    const { rows } = await client.query<{ mine: boolean }>(
      'SELECT pg_try_advisory_lock(hashtextextended($1, 0)) AS mine, retention_before($2)',
      [LOCK, days],
    );
    if (rows[0]?.mine !== true) return { result: 'busy' };
    const run: Run = { client, counts: noCounts(), options };
    await expireHeld(run);
    const postponed = await dropDays(run);
    await pruneAttempts(run);
    await pruneEvents(run);
    const result = options.signal?.aborted === true ? 'stopped' : 'done';
    return { result, counts: run.counts, postponed };
  });
}

/** Walks through the pending jobs of the lanes that are held, each once. */
async function expireHeld({ client, counts, options }: Run): Promise<void> {
  let place: [string, number, string, string] = ['', 0, '-infinity', FIRST_ID];
  await inSteps(options, async (rows) => {
    const [step] = (
      await client.query<{
        lane: string;
        version: number;
        runAt: string;
        id: string;
        finished: boolean;
        expired: number;
      }>(EXPIRE_HELD, [...place, rows])
    ).rows;
    if (step === undefined) return true;
    place = [step.lane, step.version, step.runAt, step.id];
    counts.expired += step.expired;
    options.onStep?.(counts);
    return step.finished;
  });
}

/** The time as text, which keeps its microseconds. */
const EXPIRE_HELD = `
  SELECT reached_lane AS lane, reached_version AS version, reached_run_at::text AS "runAt", reached_id AS id, finished, expired
  FROM delivery_expire_held($1, $2, $3, $4, $5)`;

/** @returns whether a day had to stay for now */
async function dropDays({ client, counts, options }: Run): Promise<boolean> {
  while (options.signal?.aborted !== true) {
    try {
      const { rows } = await client.query<{ day: string | null }>(
        'SELECT retention_drop_day($1)::text AS day',
        [options.days],
      );
      if (rows[0]?.day == null) return false;
    } catch (error) {
      if (databaseErrorCode(error) === LOCK_NOT_AVAILABLE) return true;
      throw error;
    }
    counts.attemptDays += 1;
    options.onStep?.(counts);
  }
  return false;
}

async function pruneAttempts({ client, counts, options }: Run): Promise<void> {
  let reached = '0';
  await inSteps(options, async (rows) => {
    const [step] = (
      await client.query<{ reached: string; finished: boolean; attempts: number }>(
        'SELECT * FROM retention_step_attempts($1, $2, $3)',
        [options.days, reached, rows],
      )
    ).rows;
    reached = step?.reached ?? reached;
    counts.attempts += step?.attempts ?? 0;
    options.onStep?.(counts);
    return step?.finished ?? true;
  });
}

type EventStep = Pick<PruneCounts, 'events' | 'jobs' | 'contents' | 'skips'> & {
  reached: string;
  finished: boolean;
};

async function pruneEvents({ client, counts, options }: Run): Promise<void> {
  let reached = FIRST_ID;
  await inSteps(options, async (rows) => {
    const [step] = (
      await client.query<EventStep>('SELECT * FROM retention_step($1, $2, $3, $3)', [
        options.days,
        reached,
        rows,
      ])
    ).rows;
    if (step === undefined) return true;
    reached = step.reached;
    for (const kind of ['events', 'jobs', 'contents', 'skips'] as const) counts[kind] += step[kind];
    options.onStep?.(counts);
    return step.finished;
  });
}

/** Takes step after step, each as long as it may be, until one says that it was the last. */
async function inSteps(
  { signal }: PruneOptions,
  step: (rows: number) => Promise<boolean>,
): Promise<void> {
  let rows = FIRST_ROWS;
  while (signal?.aborted !== true) {
    const startedAt = performance.now();
    if (await step(rows)) return;
    const pace = paceAfter(rows, performance.now() - startedAt);
    rows = pace.rows;
    await pause(pace.pauseMs, signal);
  }
}

function noCounts(): PruneCounts {
  return { expired: 0, attemptDays: 0, attempts: 0, jobs: 0, contents: 0, skips: 0, events: 0 };
}
