import { hookLane, type Queue, type Sql } from '@ghost/queue';

import { HookError } from './hook-error.js';

/** Why a hook is held, for programs; `operator`: whatever else stands on its lane. */
export type HoldCode =
  | 'paused'
  | 'gone'
  | 'secret_unreadable'
  | 'forbidden_address'
  | 'invalid_url'
  | 'operator';

/** What its people can end, and what they should mend before. Delivery writes all but the first. */
const OWN_HOLDS: Readonly<Record<Exclude<HoldCode, 'operator'>, string>> = {
  paused: 'It is paused. What is sent to it meanwhile is kept, for 7 days at most.',
  gone: 'The endpoint answered 410 Gone. Mend it or its URL, then resume the hook.',
  secret_unreadable:
    'A secret or the headers of the hook cannot be read with the keys of this server, and nothing is sent unsigned. Set them anew, or let the operator give the key back, then resume the hook.',
  forbidden_address: 'The URL leads where webhooks may not go. Give another, then resume the hook.',
  invalid_url: 'The URL cannot be called. Give another, then resume the hook.',
};

export interface HookHold {
  code: HoldCode;
  message: string;
  since: Date;
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
 * Ends a hold: what was kept is due at once. A cause that is still there holds it again.
 * @param by - an operator ends every hold, an account none of an operator's
 * @returns whether it was held
 * @throws HookError `held_by_operator`
 */
export async function resumeHook(
  sql: Sql,
  queue: Queue,
  hookId: number,
  by: 'account' | 'operator',
): Promise<boolean> {
  const reason = await lockHold(sql, hookId);
  if (reason === null) return false;
  if (by === 'account' && !isOwn(reason)) {
    throw new HookError(
      'held_by_operator',
      `The operator holds this hook and has to resume it: ${reason}`,
    );
  }
  return queue.resume(sql, hookLane(hookId));
}

function isOwn(reason: string): reason is keyof typeof OWN_HOLDS {
  return Object.hasOwn(OWN_HOLDS, reason);
}

async function lockHold(sql: Sql, hookId: number): Promise<string | null> {
  const rows = await sql.query<{ held_reason: string | null }>(
    'SELECT held_reason FROM delivery_lane WHERE lane = $1 ORDER BY lane, version FOR UPDATE',
    [hookLane(hookId)],
  );
  return rows.find(({ held_reason }) => held_reason !== null)?.held_reason ?? null;
}
