import { inTransaction, type Pool } from '@ghost/db';
import { sqlOf, sqlOfPool } from '@ghost/queue';

import { lockHookById, showHook } from '../hooks.js';
import { cancelReplay } from './cancel-replay.js';
import { readReplay } from './read-replays.js';
import { ReplayError } from './replay-error.js';
import { previewReplay, type ReplayPreview, type ReplayWish } from './replay-set.js';
import { type ReplayStart, startReplay } from './start-replay.js';

/** An operator looks what a replay of a hook would send. @throws HookError `unknown_hook`, ReplayError */
export async function previewReplayAsOperator(
  pool: Pool,
  hookId: number,
  wish: ReplayWish,
  retentionDays: number,
): Promise<ReplayPreview> {
  const { id } = await showHook(pool, hookId);
  return previewReplay(sqlOfPool(pool), id, wish, retentionDays);
}

/** An operator starts a replay. @returns its id. @throws HookError `unknown_hook`, ReplayError */
export async function startReplayAsOperator(
  pool: Pool,
  hookId: number,
  start: ReplayStart,
): Promise<number> {
  return inTransaction(pool, async (tx) => {
    const sql = sqlOf(tx);
    const { repository, ...hook } = await lockHookById(sql, hookId);
    return startReplay(sql, { hook, repository, actor: null }, start);
  });
}

/** An operator cancels a replay. @throws ReplayError */
export async function cancelReplayAsOperator(pool: Pool, replayId: number): Promise<void> {
  const { hookId } = await readReplay(sqlOfPool(pool), replayId);
  if (hookId === null) {
    throw new ReplayError('nothing_left_to_cancel', 'Its hook was deleted, which ended it.');
  }
  await inTransaction(pool, async (tx) => {
    const sql = sqlOf(tx);
    const { repository, ...hook } = await lockHookById(sql, hookId);
    await cancelReplay(sql, { hook, repository, actor: null }, replayId);
  });
}
