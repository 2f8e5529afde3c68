import type { Sql } from '@ghost/queue';

import { auditHook, type HookAtHand } from '../change-hook.js';
import { ReplayError } from './replay-error.js';
import { type JudgedWish, judgeWish, type ReplayWish, STATUSES_OF } from './replay-set.js';
import { LEAST_AHEAD } from './step-replay.js';
import { countEnded } from './count-ended.js';
import { wakeReplays } from './wake-replays.js';

/** A hook that is locked against edits, and who asks. */
export interface HookToReplay extends Pick<HookAtHand, 'repository' | 'actor'> {
  hook: { id: number; active: boolean };
}

export interface ReplayStart extends ReplayWish {
  retentionDays: number;
  /** What a preview counted: started only if it is still so. */
  expectedTotal?: number | undefined;
}

/**
 * Starts a replay in the transaction of the caller: what it sends again is fixed by one statement, whatever
 * fails or is sent afterwards. Whoever runs replays is woken at commit.
 * @returns its id
 * @throws ReplayError
 */
export async function startReplay(
  sql: Sql,
  at: HookToReplay,
  { retentionDays, expectedTotal, ...wish }: ReplayStart,
): Promise<number> {
  const { id: hookId, active } = at.hook;
  const judged = await judgeWish(sql, wish, retentionDays);
  if (!active) {
    throw new ReplayError(
      'hook_inactive',
      'The hook is not active: make it so, then ask for the replay again.',
    );
  }
  await requireNoOther(sql, hookId);
  await forgetOld(sql, hookId, retentionDays);
  const { id, total } = await insertReplay(sql, at, judged);
  await countEnded(sql, hookId);
  if (expectedTotal !== undefined && expectedTotal !== total) {
    throw new ReplayError(
      'total_differs',
      `It would send ${total} deliveries again, not ${expectedTotal}: some were sent again or ended meanwhile. Look at a new preview.`,
    );
  }
  const { since, until, which } = judged;
  await auditHook(sql, at, 'hook.replay_started', {
    replay: id,
    which,
    since: since.toISOString(),
    until: until.toISOString(),
    total,
  });
  await wakeReplays(sql);
  return id;
}

async function requireNoOther(sql: Sql, hookId: number): Promise<void> {
  const [other] = await sql.query<{ id: string }>(
    'SELECT id FROM hook_replay WHERE hook_id = $1 AND handed_at IS NULL',
    [hookId],
  );
  if (other === undefined) return;
  throw new ReplayError(
    'already_replaying',
    `Replay ${other.id} of this hook is not through: wait for it, or cancel it.`,
  );
}

/** What came of them is kept as long as their deliveries are. */
async function forgetOld(sql: Sql, hookId: number, retentionDays: number): Promise<void> {
  await sql.query(
    'DELETE FROM hook_replay WHERE (hook_id = $1 OR hook_id IS NULL) AND ended_at < retention_before($2)',
    [hookId, retentionDays],
  );
}

async function insertReplay(
  sql: Sql,
  { hook, actor }: HookToReplay,
  { which, since, until }: JudgedWish,
): Promise<{ id: number; total: number }> {
  const [made] = await sql.query<{ id: string }>(
    `INSERT INTO hook_replay (hook_id, which, since, until, account_id, account, total, ahead, handed_at)
     VALUES ($1, $2, $3, $4, $5, $6, 0, $7, now()) RETURNING id`,
    [hook.id, which, since, until, actor?.id ?? null, actor?.login ?? 'operator', LEAST_AHEAD],
  );
  const id = Number(made?.id);
  const [filled] = await sql.query<{ total: number }>(
    `WITH filled AS (
       INSERT INTO hook_replay_target (replay_id, seq, job_id, lease_no)
       SELECT $1, row_number() OVER (ORDER BY s.job_id), s.job_id, s.lease_no
       FROM hook_replay_set($2, $3, $4, $5) s WHERE s.refused IS NULL
       RETURNING seq
     ), counted AS (SELECT count(*)::integer AS total FROM filled)
     UPDATE hook_replay r SET total = c.total,
       handed_at = CASE WHEN c.total = 0 THEN now() END, ended_at = CASE WHEN c.total = 0 THEN now() END
     FROM counted c WHERE r.id = $1 RETURNING c.total`,
    [id, hook.id, since, until, STATUSES_OF[which]],
  );
  return { id, total: filled?.total ?? 0 };
}
