import type { Sql } from '@ghost/queue';

import { listLimit } from '../../list-limit.js';
import { type HookHold, holdOf } from '../hook-hold.js';
import { ReplayError } from './replay-error.js';
import type { ReplaySet } from './replay-set.js';

/**
 * `waiting`: its hook is held or inactive. `finishing`: all was made pending, and some have attempts before them.
 * A cancelled one may have pending deliveries, too.
 */
export type ReplayState = 'running' | 'waiting' | 'finishing' | 'done' | 'cancelled';

/** Where each of `total` is: the other counts add up to it. */
export interface ReplayProgress {
  total: number;
  /** Not made pending yet; of a cancelled replay: never. */
  remaining: number;
  pending: number;
  delivered: number;
  /** Given up again. */
  failed: number;
  /** Cancelled after they were made pending: the comment was deleted, the hook made inactive. */
  cancelled: number;
  /** Never made pending. */
  skipped: number;
  /** `pending`: it waited to be sent anyway; `sent_meanwhile`; `comment_deleted`; `pruned`; `refused`. */
  skippedBy: Record<string, number>;
}

export interface Replay {
  id: number;
  hookId: number | null;
  which: ReplaySet;
  since: Date;
  until: Date;
  /** Who started it; null: an operator at the command line. */
  accountId: number | null;
  account: string;
  createdAt: Date;
  state: ReplayState;
  /** Why it waits. */
  waitsFor: { hold: HookHold } | 'inactive' | null;
  progress: ReplayProgress;
  /** When the last was made pending, or it was cancelled. */
  handedAt: Date | null;
  cancelledAt: Date | null;
  endedAt: Date | null;
}

export interface ReplayFilter {
  hookId?: number | undefined;
  id?: number | undefined;
  /** Only older ones than that with this id. */
  after?: number | undefined;
  limit?: number | undefined;
}

interface ReplayRecord
  extends Omit<Replay, 'id' | 'hookId' | 'accountId' | 'state' | 'waitsFor' | 'progress'> {
  id: string;
  hookId: string | null;
  accountId: string | null;
  active: boolean | null;
  heldReason: string | null;
  heldAt: Date | null;
  total: number;
  delivered: number;
  dead: number;
  cancelled: number;
  skipped: Record<string, number>;
  pending: number;
  lost: number;
}

/**
 * Replays, the newest first, as they are at this moment: what ended since the last step is looked up, so
 * the counts are those of one snapshot, whether anybody runs replays or not.
 */
export async function readReplays(sql: Sql, filter: ReplayFilter = {}): Promise<Replay[]> {
  const rows = await sql.query<ReplayRecord>(
    `SELECT r.id, r.hook_id AS "hookId", r.which, r.since, r.until, r.account_id AS "accountId", r.account,
       r.created_at AS "createdAt", r.handed_at AS "handedAt", r.cancelled_at AS "cancelledAt", r.ended_at AS "endedAt",
       h.active, l.held_reason AS "heldReason", l.held_at AS "heldAt", r.total, r.skipped,
       r.delivered + coalesce(f.delivered, 0) AS delivered, r.dead + coalesce(f.dead, 0) AS dead,
       r.cancelled + coalesce(f.cancelled, 0) AS cancelled, coalesce(f.pending, 0) AS pending, coalesce(f.lost, 0) AS lost
     FROM hook_replay r LEFT JOIN hook h ON h.id = r.hook_id
     LEFT JOIN LATERAL (
       SELECT min(held_reason) AS held_reason, min(held_at) AS held_at FROM delivery_lane WHERE lane = 'hook:' || r.hook_id
     ) l ON true
     LEFT JOIN LATERAL hook_replay_in_hand(r.id, r.low, r.reached) f ON r.ended_at IS NULL
     WHERE ($1::bigint IS NULL OR r.hook_id = $1) AND ($2::bigint IS NULL OR r.id = $2) AND ($3::bigint IS NULL OR r.id < $3)
     ORDER BY r.id DESC LIMIT $4`,
    [filter.hookId ?? null, filter.id ?? null, filter.after ?? null, listLimit(filter.limit)],
  );
  return rows.map(toReplay);
}

/** @throws ReplayError `unknown_replay` */
export async function readReplay(sql: Sql, id: number, hookId?: number): Promise<Replay> {
  const [found] = await readReplays(sql, { id, hookId, limit: 1 });
  if (found === undefined) throw new ReplayError('unknown_replay', `There is no replay ${id}.`);
  return found;
}

function toReplay(row: ReplayRecord): Replay {
  const { id, hookId, accountId, which, since, until, account } = row;
  const { createdAt, handedAt, cancelledAt, endedAt } = row;
  const progress = progressOf(row);
  const waitsFor = waitsForOf(row);
  return {
    ...{ id: Number(id), hookId: hookId === null ? null : Number(hookId), which, since, until },
    ...{ accountId: accountId === null ? null : Number(accountId), account, createdAt },
    state: stateOf(row, progress, waitsFor),
    ...{ waitsFor, progress, handedAt, cancelledAt, endedAt },
  };
}

function progressOf(row: ReplayRecord): ReplayProgress {
  const { total, pending, delivered, dead: failed, cancelled, lost } = row;
  const skippedBy = { ...row.skipped };
  if (lost > 0) skippedBy['pruned'] = (skippedBy['pruned'] ?? 0) + lost;
  const skipped = Object.values(skippedBy).reduce((sum, jobs) => sum + jobs, 0);
  const remaining = total - pending - delivered - failed - cancelled - skipped;
  return { total, remaining, pending, delivered, failed, cancelled, skipped, skippedBy };
}

function waitsForOf({ handedAt, active, heldReason, heldAt }: ReplayRecord): Replay['waitsFor'] {
  if (handedAt !== null) return null;
  if (active === false) return 'inactive';
  const hold = holdOf(heldReason, heldAt);
  return hold === null ? null : { hold };
}

function stateOf(
  { cancelledAt, handedAt, hookId }: ReplayRecord,
  { pending }: ReplayProgress,
  waitsFor: Replay['waitsFor'],
): ReplayState {
  // A deleted hook ends its replay, though nobody may have noted it yet.
  if (cancelledAt !== null || (hookId === null && handedAt === null)) return 'cancelled';
  if (handedAt !== null) return pending > 0 ? 'finishing' : 'done';
  return waitsFor === null ? 'running' : 'waiting';
}
