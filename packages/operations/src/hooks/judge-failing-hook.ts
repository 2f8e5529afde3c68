import { type EventPayload, toStorableText } from '@ghost/contract';
import { inClientTransaction, type Pool, type PoolClient, writeEvent } from '@ghost/db';
import { hookLane, type Queue, type Sql, sqlOfClient } from '@ghost/queue';

import { AUDIT_SYSTEM } from '../audit.js';
import { auditHook, shownOf } from './change-hook.js';
import { type EndpointFault, halfOf } from './find-failing-hooks.js';
import { HookError } from './hook-error.js';
import { lockHold } from './hook-hold.js';
import { type LockedHook, lockHookById } from './hooks.js';

/** What was done about a hook; null: nothing was to be done. */
export type FailingStep = 'warned' | 'disabled' | null;

/** What both events tell. */
type Told = Pick<
  EventPayload<'hook.failing'>,
  'repository' | 'hook' | 'reason' | 'message' | 'status' | 'failing_since'
>;

interface Streak {
  since: Date;
  /** It lasts for half the period at least. */
  long: boolean;
  /** Its people were told of this streak, and half the period ago at least. */
  warned: boolean;
  warnedLong: boolean;
  now: Date;
  /** When it is disabled at the earliest, if they are told now. */
  disablesAt: Date;
}

/**
 * Warns of a hook, or disables it, where that is due, or tells that a fault held it: all in one transaction under its lock, so that each happens once a
 * streak of failures, whoever else looks and wherever a process dies. It is disabled only half a period after its
 * people were told: after an outage of ours, in which nothing was tried, they have that time.
 */
export async function judgeFailingHook(
  pool: Pool,
  queue: Queue,
  fault: EndpointFault,
  periodMs: number,
): Promise<FailingStep> {
  try {
    return await inClientTransaction(pool, async (client) => {
      const sql = sqlOfClient(client);
      const hook = await lockHookById(sql, fault.hookId);
      const heldFor = await lockHold(sql, hook.id);
      if (fault.held)
        return heldFor === fault.reason ? await tellOfHold(client, hook, fault) : null;
      if (!hook.active || heldFor !== null) return null;
      const streak = await readStreak(sql, hook.id, halfOf(periodMs));
      if (streak === null || !streak.long) return null;
      if (!streak.warned) return await warn(client, hook, fault, streak);
      return streak.warnedLong ? await disable(client, queue, hook, fault, streak) : null;
    });
  } catch (error) {
    // Deleted meanwhile.
    if (error instanceof HookError && error.problem === 'unknown_hook') return null;
    throw error;
  }
}

async function warn(
  client: PoolClient,
  hook: LockedHook,
  fault: EndpointFault,
  streak: Streak,
): Promise<FailingStep> {
  const sql = sqlOfClient(client);
  await sql.query('UPDATE delivery_lane SET warned_at = now() WHERE lane = $1', [
    hookLane(hook.id),
  ]);
  await tell(client, hook, fault, streak, (told) => ({
    type: 'hook.failing',
    payload: { ...told, disables_at: streak.disablesAt.toISOString() },
  }));
  return 'warned';
}

async function disable(
  client: PoolClient,
  queue: Queue,
  hook: LockedHook,
  fault: EndpointFault,
  streak: Streak,
): Promise<FailingStep> {
  await queue.hold(sqlOfClient(client), hookLane(hook.id), 'disabled');
  await tell(client, hook, fault, streak, (told) => ({
    type: 'hook.disabled',
    payload: { ...told, held: 'disabled', disabled_at: streak.now.toISOString() },
  }));
  return 'disabled';
}

/** Tells its owner, once, that a hook was held when an attempt ended so. */
async function tellOfHold(
  client: PoolClient,
  hook: LockedHook,
  fault: EndpointFault,
): Promise<FailingStep> {
  const sql = sqlOfClient(client);
  const [held] = await sql.query<{ at: Date }>(
    `UPDATE delivery_lane SET warned_at = now()
     WHERE lane = $1 AND held_at IS NOT NULL AND (warned_at IS NULL OR warned_at < held_at) RETURNING held_at AS at`,
    [hookLane(hook.id)],
  );
  if (held === undefined) return null;
  await tell(client, hook, fault, { since: held.at }, (told) => ({
    type: 'hook.disabled',
    payload: { ...told, held: fault.reason, disabled_at: held.at.toISOString() },
  }));
  return 'disabled';
}

/** After the lane's lock. */
async function readStreak(sql: Sql, hookId: number, halfMs: number): Promise<Streak | null> {
  const [row] = await sql.query<Omit<Streak, 'since'> & { since: Date | null }>(
    `SELECT l.since, l.since <= now() - $2 * interval '1 millisecond' AS long,
       coalesce(l.warned_at >= l.since, false) AS warned,
       coalesce(l.warned_at <= now() - $2 * interval '1 millisecond', false) AS "warnedLong",
       now(), now() + $2 * interval '1 millisecond' AS "disablesAt"
     FROM (SELECT min(failing_since) AS since, max(warned_at) AS warned_at FROM delivery_lane WHERE lane = $1) l`,
    [hookLane(hookId), halfMs],
  );
  return row === undefined || row.since === null ? null : { ...row, since: row.since };
}

type ToldEvent = {
  [T in 'hook.failing' | 'hook.disabled']: { type: T; payload: EventPayload<T> };
}['hook.failing' | 'hook.disabled'];

/** Writes the event, which mails its owner, and the audit's line. */
async function tell(
  client: PoolClient,
  hook: LockedHook,
  fault: EndpointFault,
  { since }: Pick<Streak, 'since'>,
  eventOf: (told: Told) => ToldEvent,
): Promise<void> {
  const sql = sqlOfClient(client);
  const event = eventOf(await toldOf(sql, hook, fault, since));
  const { repository } = hook;
  const { reason, status } = fault;
  const detail = { since: since.toISOString(), reason, status };
  await auditHook(sql, { hook, repository, actor: AUDIT_SYSTEM }, event.type, detail);
  await writeEvent(client, { ...event, repositoryId: repository.id });
}

async function toldOf(
  sql: Sql,
  hook: LockedHook,
  { reason, message, status }: EndpointFault,
  since: Date,
): Promise<Told> {
  const { id, repository } = hook;
  const [of] = await sql.query<{ owner: string; name: string; private: boolean }>(
    'SELECT a.login AS owner, r.name, r.private FROM repository r JOIN account a ON a.id = r.owner_id WHERE r.id = $1',
    [repository.id],
  );
  if (of === undefined) throw new HookError('unknown_hook', `There is no hook ${id}.`);
  const { origin, events, active } = shownOf(hook);
  return {
    repository: { id: repository.id, full_name: repository.fullName, ...of },
    hook: { id, url: origin, events, active },
    reason,
    message: message === null ? null : toStorableText(message),
    status,
    failing_since: since.toISOString(),
  };
}
