import { databaseErrorCode } from '@ghost/db';
import type { Sql } from '@ghost/queue';

import { inSteps } from '../steps/in-steps.js';
import { type Busy, type RunAlone, runAlone } from '../steps/run-alone.js';

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
  { result: 'done' | 'stopped'; counts: PruneCounts; postponed: boolean } | Busy;

export interface PruneOptions extends Omit<RunAlone, 'lock'> {
  /** 1 to 3,650. */
  days: number;
  /** Ends it after the step under way. */
  signal?: AbortSignal;
  /** Hears after each step what went so far. */
  onStep?: (counts: Readonly<PruneCounts>) => void;
}

interface Run {
  sql: Sql;
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
  return runAlone({ databaseUrl, name, lock: LOCK }, async (sql): Promise<Pruned> => {
    // Refuses days that are out of bounds before anything goes.
    await sql.query('SELECT retention_before($1)', [days]);
    const run: Run = { sql, counts: noCounts(), options };
    await expireHeld(run);
    const postponed = await dropDays(run);
    await pruneAttempts(run);
    await pruneEvents(run);
    const result = options.signal?.aborted === true ? 'stopped' : 'done';
    return { result, counts: run.counts, postponed };
  });
}

/** Walks through the pending jobs of the lanes that are held, each once. */
async function expireHeld({ sql, counts, options }: Run): Promise<void> {
  let place: [string, number, string, string] = ['', 0, '-infinity', FIRST_ID];
  await inSteps(options.signal, async (rows) => {
    const [step] = await sql.query<HeldStep>(EXPIRE_HELD, [...place, rows]);
    if (step === undefined) return null;
    place = [step.lane, step.version, step.runAt, step.id];
    counts.expired += step.expired;
    options.onStep?.(counts);
    return nextAfter(step);
  });
}

interface HeldStep {
  lane: string;
  version: number;
  runAt: string;
  id: string;
  finished: boolean;
  expired: number;
}

/** The time as text, which keeps its microseconds. */
const EXPIRE_HELD = `
  SELECT reached_lane AS lane, reached_version AS version, reached_run_at::text AS "runAt", reached_id AS id, finished, expired
  FROM delivery_expire_held($1, $2, $3, $4, $5)`;

/** @returns whether a day had to stay for now */
async function dropDays({ sql, counts, options }: Run): Promise<boolean> {
  while (options.signal?.aborted !== true) {
    try {
      const [dropped] = await sql.query<{ day: string | null }>(
        'SELECT retention_drop_day($1)::text AS day',
        [options.days],
      );
      if (dropped?.day == null) return false;
    } catch (error) {
      if (databaseErrorCode(error) === LOCK_NOT_AVAILABLE) return true;
      throw error;
    }
    counts.attemptDays += 1;
    options.onStep?.(counts);
  }
  return false;
}

async function pruneAttempts({ sql, counts, options }: Run): Promise<void> {
  let reached = '0';
  await inSteps(options.signal, async (rows) => {
    const [step] = await sql.query<{ reached: string; finished: boolean; attempts: number }>(
      'SELECT * FROM retention_step_attempts($1, $2, $3)',
      [options.days, reached, rows],
    );
    reached = step?.reached ?? reached;
    counts.attempts += step?.attempts ?? 0;
    options.onStep?.(counts);
    return nextAfter(step);
  });
}

type EventStep = Pick<PruneCounts, 'events' | 'jobs' | 'contents' | 'skips'> & {
  reached: string;
  finished: boolean;
};

async function pruneEvents({ sql, counts, options }: Run): Promise<void> {
  let reached = FIRST_ID;
  await inSteps(options.signal, async (rows) => {
    const [step] = await sql.query<EventStep>('SELECT * FROM retention_step($1, $2, $3, $3)', [
      options.days,
      reached,
      rows,
    ]);
    if (step === undefined) return null;
    reached = step.reached;
    for (const kind of ['events', 'jobs', 'contents', 'skips'] as const) counts[kind] += step[kind];
    options.onStep?.(counts);
    return nextAfter(step);
  });
}

/** Each step may follow the one before at once, but for the pause that every one has. */
function nextAfter(step: { finished: boolean } | undefined): 0 | null {
  return step?.finished === false ? 0 : null;
}

function noCounts(): PruneCounts {
  return { expired: 0, attemptDays: 0, attempts: 0, jobs: 0, contents: 0, skips: 0, events: 0 };
}
