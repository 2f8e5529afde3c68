import type { Sql } from '@ghost/queue';

/**
 * So many that nobody tried yet may be pending. It doubles while the hook takes them all between two steps and
 * halves when more than half is left, so that an event that comes meanwhile waits for a step's worth, some seconds
 * at most, at a quick hook and at a slow one.
 */
export const LEAST_AHEAD = 20;
const MOST_AHEAD = 500;
/** Between two steps that had something to do; doubles while there is nothing. */
const PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 60_000;

/** A replay that is not over, and when its next step is due; null: at a wake. */
export interface OpenReplay {
  id: number;
  inMs: number | null;
}

/** What a step did, and how many are pending after it. */
export interface ReplayStep {
  hookId: number | null;
  /** Made pending. */
  queued: number;
  delivered: number;
  dead: number;
  cancelled: number;
  skipped: number;
  pending: number;
  ended: boolean;
}

/** The replays that are not over, the next due first. */
export async function openReplays(sql: Sql): Promise<OpenReplay[]> {
  const rows = await sql.query<{ id: string; inMs: number | null }>(
    `SELECT id, CASE WHEN next_at < 'infinity'
       THEN greatest(0, ceil(extract(epoch FROM next_at - clock_timestamp()) * 1000))::float8 END AS "inMs"
     FROM hook_replay WHERE ended_at IS NULL ORDER BY next_at, id`,
    [],
  );
  return rows.map(({ id, inMs }) => ({ id: Number(id), inMs }));
}

/**
 * Takes the next step of a replay, if it is due: one transaction, so a process that dies has done all of it or
 * nothing, and several may run replays at once.
 * @param woken - also takes that of one which waits for a wake
 * @returns null: it is over, not due, or somebody else is at it
 */
export async function stepReplay(
  sql: Sql,
  replayId: number,
  woken: boolean,
): Promise<ReplayStep | null> {
  const [step] = await sql.query<Omit<ReplayStep, 'hookId'> & { hookId: string | null }>(
    `SELECT hook_id AS "hookId", queued, delivered, dead, cancelled, skipped, pending, ended
     FROM hook_replay_step($1, $2, $3, $4, $5, $6)`,
    [replayId, woken, LEAST_AHEAD, MOST_AHEAD, PAUSE_MS, LONGEST_PAUSE_MS],
  );
  if (step === undefined) return null;
  return { ...step, hookId: step.hookId === null ? null : Number(step.hookId) };
}
