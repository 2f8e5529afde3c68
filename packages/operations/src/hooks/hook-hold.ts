import { hookLane, type Queue, type Sql } from '@ghost/queue';

import { DISCARDED } from '../jobs.js';
import { HookError } from './hook-error.js';

/** Why a hook is held, for programs; `operator`: whatever else stands on its lane. */
export type HoldCode =
  | 'paused'
  | 'disabled'
  | 'gone'
  | 'secret_unreadable'
  | 'forbidden_address'
  | 'invalid_url'
  | 'operator';

/** What its people can end, and what they should mend before. Delivery writes all but the first. */
const OWN_HOLDS: Readonly<Record<Exclude<HoldCode, 'operator'>, string>> = {
  paused: 'It is paused. What is sent to it meanwhile is kept, for 7 days at most.',
  disabled:
    'It was disabled, as nothing could be delivered to it for long. What is sent to it meanwhile is kept, for 7 days at most. Mend the endpoint or its URL, then resume the hook.',
  gone: 'The endpoint answered 410 Gone. Mend it or its URL, then resume the hook.',
  secret_unreadable:
    'A secret or the headers of the hook cannot be read with the keys of this server, and nothing is sent unsigned. Set them anew, or let the operator give the key back, then resume the hook.',
  forbidden_address: 'The URL leads where webhooks may not go. Give another, then resume the hook.',
  invalid_url: 'The URL cannot be called. Give another, then resume the hook.',
};

/** What becomes of the deliveries that a held hook kept, when it is resumed. */
export const KEPT_CHOICES = ['send', 'discard'] as const;
export type KeptChoice = (typeof KEPT_CHOICES)[number];

/** Discarded in one transaction: 0.3 s on a busy machine (measured), in which nothing else can be settled for the hook. */
const DISCARDED_AT_ONCE = 5_000;
/** A bound for a loop that ends long before: a hook keeps a bounded number of deliveries. */
const MOST_STEPS = 1_000;

export interface HookHold {
  code: HoldCode;
  message: string;
  since: Date;
}

/** What a step of resuming a hook did. */
export interface Resumed {
  /** The reason that it was held for. */
  was: string;
  discarded: number;
  /** It is held still, as there is more to discard. */
  more: boolean;
}

/** What a lane's hold means for the people of its hook; null when it is not held. */
export function holdOf(reason: string | null, since: Date | null): HookHold | null {
  if (reason === null || since === null) return null;
  if (isOwn(reason)) return { code: reason, message: OWN_HOLDS[reason], since };
  return { code: 'operator', message: `The operator holds it: ${reason}`, since };
}

/**
 * Keeps what is sent to a hook until somebody resumes it. A hold that is there keeps its reason, which
 * tells what has to be mended.
 * @returns whether it was not held before
 */
export async function pauseHook(sql: Sql, queue: Queue, hookId: number): Promise<boolean> {
  if ((await lockHold(sql, hookId)) !== null) return false;
  await queue.hold(sql, hookLane(hookId), 'paused');
  return true;
}

/**
 * A step of ending a hold, in a transaction of its own (see {@link resumeInSteps}): what was kept is due at once, or
 * ends as `discarded`. A cause that is still there holds the hook again; how long it has failed counts anew.
 * @param by - an operator ends every hold, an account none of an operator's
 * @returns null when it was not held
 * @throws HookError `held_by_operator`
 */
export async function resumeHook(
  sql: Sql,
  queue: Queue,
  hookId: number,
  by: 'account' | 'operator',
  kept: KeptChoice = 'send',
): Promise<Resumed | null> {
  const was = await lockHold(sql, hookId);
  if (was === null) return null;
  if (by === 'account' && !isOwn(was)) {
    throw new HookError(
      'held_by_operator',
      `The operator holds this hook and has to resume it: ${was}`,
    );
  }
  const discarded = kept === 'discard' ? await discardKept(sql, queue, hookId) : 0;
  const more = discarded === DISCARDED_AT_ONCE;
  if (!more) await queue.resume(sql, hookLane(hookId));
  return { was, discarded, more };
}

/**
 * Runs the steps of resuming a hook: it stays held until all is discarded that shall be, so that nothing of it is sent,
 * and whoever dies on the way can begin again.
 * @returns what all of them did; null when the hook was not held, or somebody else ended it meanwhile
 */
export async function resumeInSteps(step: () => Promise<Resumed | null>): Promise<Resumed | null> {
  let discarded = 0;
  for (let steps = 1; ; steps += 1) {
    const done = await step();
    if (done === null) return null;
    discarded += done.discarded;
    if (!done.more || steps === MOST_STEPS) return { ...done, discarded };
  }
}

/** What is being sent right now is left out: whether it arrives is not known. */
async function discardKept(sql: Sql, queue: Queue, hookId: number): Promise<number> {
  const kept = await sql.query<{ id: string }>(
    `SELECT id FROM delivery_job
     WHERE lane = $1 AND status = 'pending' AND (lease_until IS NULL OR lease_until <= now())
     ORDER BY version, run_at, id LIMIT $2`,
    [hookLane(hookId), DISCARDED_AT_ONCE],
  );
  const jobIds = kept.map(({ id }) => id);
  return jobIds.length === 0 ? 0 : queue.cancel(sql, { jobIds }, DISCARDED);
}

function isOwn(reason: string): reason is keyof typeof OWN_HOLDS {
  return Object.hasOwn(OWN_HOLDS, reason);
}

/** Locks the lane of a hook, after the hook. @returns why it is held; null when it is not */
export async function lockHold(sql: Sql, hookId: number): Promise<string | null> {
  const rows = await sql.query<{ held_reason: string | null }>(
    'SELECT held_reason FROM delivery_lane WHERE lane = $1 ORDER BY lane, version FOR UPDATE',
    [hookLane(hookId)],
  );
  return rows.find(({ held_reason }) => held_reason !== null)?.held_reason ?? null;
}
