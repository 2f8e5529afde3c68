import { type JobKind, toStorableText } from '@ghost/contract';
import type { Pool } from '@ghost/db';
import { type Queue, sqlOfPool } from '@ghost/queue';

import { listLimit } from './list-limit.js';

/** A bigint of more digits is no id that JavaScript can hold. */
const HOOK_LANE = /^hook:([1-9]\d{0,14})$/u;
const MAIL_LANE = /^mail:([^\s:@]+)(?::bulk)?$/u;

/** A destination as an operator sees it: what waits for it, and why it waits. */
export interface LaneRow {
  /** `hook:<id>`, `mail:<domain>` or `mail:<domain>:bulk`. */
  lane: string;
  kind: JobKind;
  /** Pending jobs, those in flight included. */
  pending: number;
  inFlight: number;
  /** Why it is held; null when it is not. */
  heldReason: string | null;
  heldSince: Date | null;
  /** Its pause (429, 503) ends by itself then; null when it does not rest. */
  restingUntil: Date | null;
  /** When its next job may be sent; null when none waits or the lane is held. */
  nextDue: Date | null;
  /**
   * `proven`: a recent success. `slow`: none. `failing`: five failures or more in a row, so one job at a time probes
   * it. `suspect`: workers died while they held a job of it, so that is run alone.
   */
  standing: 'proven' | 'slow' | 'failing' | 'suspect';
  /** Its own limit of jobs in flight; null: the workers' default. */
  slots: number | null;
}

export interface LaneFilter {
  lane?: string;
  /** Only held ones. */
  held?: boolean;
  /** Also lanes that have nothing pending and are neither held nor resting. */
  idle?: boolean;
  /** 1 to 1,000; default 50. */
  limit?: number;
}

/** What an operator's wish for a lane came to; the reason says what to do instead. */
export type LaneChange =
  /** `pending`: the jobs that were kept and are due again, or that are kept from now on. */
  | { result: 'done'; lane: string; pending: number }
  | { result: 'refused'; lane: string; reason: string };

/**
 * Lanes that hold something up: the held first (the longest held on top), then the fullest. Reads each
 * pending job once, so it is for a person and no tight loop.
 */
export async function listLanes(pool: Pool, filter: LaneFilter = {}): Promise<LaneRow[]> {
  const limit = listLimit(filter.limit);
  type LaneRecord = Omit<LaneRow, 'pending' | 'inFlight'> & { pending: string; inFlight: string };
  const { rows } = await pool.query<LaneRecord>(
    `SELECT * FROM (
       SELECT l.lane, l.kind, coalesce(sum(j.pending), 0) AS pending, coalesce(sum(j.in_flight), 0) AS "inFlight",
         min(l.held_reason) AS "heldReason", min(l.held_at) AS "heldSince",
         max(l.not_before) FILTER (WHERE l.not_before > now()) AS "restingUntil",
         min(greatest(j.run_at, l.not_before)) FILTER (WHERE j.run_at IS NOT NULL AND l.held_reason IS NULL) AS "nextDue",
         CASE WHEN bool_or(l.standing = 'suspect') THEN 'suspect' WHEN max(l.failures) >= 5 THEN 'failing' WHEN bool_or(l.standing = 'proven') THEN 'proven' ELSE 'slow' END AS standing,
         min(l.slots) AS slots
       FROM delivery_lane l
       LEFT JOIN (
         SELECT lane, version, count(*) AS pending, count(*) FILTER (WHERE lease_until > now()) AS in_flight,
           min(run_at) FILTER (WHERE lease_until IS NULL OR lease_until <= now()) AS run_at
         FROM delivery_job WHERE status = 'pending' AND ($1::text IS NULL OR lane = $1) GROUP BY lane, version
       ) j ON j.lane = l.lane AND j.version = l.version
       WHERE $1::text IS NULL OR l.lane = $1
       GROUP BY l.lane, l.kind
     ) AS seen
     WHERE (NOT $2::boolean OR "heldReason" IS NOT NULL)
       AND ($3::boolean OR pending > 0 OR "heldReason" IS NOT NULL OR "restingUntil" IS NOT NULL)
     ORDER BY "heldSince", pending DESC, lane LIMIT $4`,
    [filter.lane ?? null, filter.held ?? false, filter.idle ?? false, limit],
  );
  return rows.map((row) => ({
    ...row,
    pending: Number(row.pending),
    inFlight: Number(row.inFlight),
  }));
}

/** One lane; null when nothing was ever sent or held there. */
export async function findLane(pool: Pool, lane: string): Promise<LaneRow | null> {
  const [row] = await listLanes(pool, { lane, idle: true, limit: 1 });
  return row ?? null;
}

/** Ends a hold: what was kept is due at once. A cause that is still there holds the lane again. */
export async function resumeLane(pool: Pool, queue: Queue, lane: string): Promise<LaneChange> {
  const found = await findLane(pool, lane);
  if (!found) return refused(lane, await whyUnknown(pool, lane));
  if (await queue.resume(sqlOfPool(pool), lane)) {
    return { result: 'done', lane, pending: found.pending };
  }
  return refused(lane, whyNotHeld(found));
}

/**
 * Keeps a lane's jobs until someone resumes it; those in flight end. A hold that is there keeps its
 * reason, which tells what has to be mended.
 * @param reason - shown wherever the lane is; one line
 */
export async function holdLane(
  pool: Pool,
  queue: Queue,
  lane: string,
  reason: string,
): Promise<LaneChange> {
  const found = await findLane(pool, lane);
  if (found?.heldReason != null) {
    const since = found.heldSince?.toISOString() ?? '?';
    return refused(lane, `it is held already (${found.heldReason}, since ${since})`);
  }
  if (!found && !(await hasDestination(pool, lane))) {
    return refused(lane, await whyUnknown(pool, lane));
  }
  await queue.hold(sqlOfPool(pool), lane, toStorableText(reason));
  return { result: 'done', lane, pending: found?.pending ?? 0 };
}

/** Of a domain's slots bulk mail has a half, and less than one cannot be had. */
const LEAST_MAIL_SLOTS = 2;

/**
 * Sets how many jobs of a lane may be in flight at once, over all processes. A mail domain's limit counts for its normal
 * and its bulk mail together. What is in flight beyond a lower one goes on.
 * @param slots - null: the processes' default
 */
export async function limitLane(
  pool: Pool,
  queue: Queue,
  lane: string,
  slots: number | null,
): Promise<LaneChange> {
  const domain = MAIL_LANE.exec(lane)?.[1];
  if (domain !== undefined && lane !== `mail:${domain}`) {
    return refused(lane, `its limit is that of its domain: name mail:${domain}`);
  }
  if (domain !== undefined && slots !== null && slots < LEAST_MAIL_SLOTS) {
    return refused(lane, 'normal and bulk mail have one half each, so 2 is the least');
  }
  const found = await findLane(pool, lane);
  if (!found && !(await hasDestination(pool, lane))) {
    return refused(lane, await whyUnknown(pool, lane));
  }
  const lanes = domain === undefined ? [lane] : [lane, `${lane}:bulk`];
  for (const one of lanes) await queue.limit(sqlOfPool(pool), one, slots);
  return { result: 'done', lane, pending: found?.pending ?? 0 };
}

function refused(lane: string, reason: string): LaneChange {
  return { result: 'refused', lane, reason };
}

function whyNotHeld({ restingUntil }: LaneRow): string {
  if (restingUntil === null) return 'it is not held';
  return `it is not held; it rests until ${restingUntil.toISOString()} and goes on by itself`;
}

/** Whether a lane that has had no job yet could get one: a typing error would hold nothing. */
async function hasDestination(pool: Pool, lane: string): Promise<boolean> {
  const hook = HOOK_LANE.exec(lane)?.[1];
  if (hook !== undefined) {
    const { rowCount } = await pool.query('SELECT FROM hook WHERE id = $1', [hook]);
    return rowCount === 1;
  }
  const domain = MAIL_LANE.exec(lane)?.[1];
  if (domain === undefined) return false;
  const { rowCount } = await pool.query(
    `SELECT FROM email_address WHERE lower(split_part(address, '@', 2)) = $1 LIMIT 1`,
    [domain],
  );
  return rowCount === 1;
}

async function whyUnknown(pool: Pool, lane: string): Promise<string> {
  if (!HOOK_LANE.test(lane) && !MAIL_LANE.test(lane)) {
    return 'there is no such lane: a lane is hook:<id>, mail:<domain> or mail:<domain>:bulk';
  }
  if (await hasDestination(pool, lane)) return 'nothing was ever sent or held there';
  return HOOK_LANE.test(lane)
    ? 'there is no such lane: no hook has this id'
    : 'there is no such lane: no account has an address of this domain';
}
