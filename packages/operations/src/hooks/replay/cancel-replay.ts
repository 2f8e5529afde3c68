import type { Sql } from '@ghost/queue';

import { auditHook } from '../change-hook.js';
import { ReplayError } from './replay-error.js';
import type { HookToReplay } from './start-replay.js';
import { wakeReplays } from './wake-replays.js';

/**
 * Ends a replay of a locked hook: nothing more is made pending. What is pending already is sent, and counted.
 * Done before, it stays as it is.
 * @throws ReplayError `unknown_replay`, `nothing_left_to_cancel`
 */
export async function cancelReplay(
  sql: Sql,
  at: Omit<HookToReplay, 'hook'> & { hook: { id: number } },
  replayId: number,
): Promise<void> {
  const [found] = await sql.query<{ handed: boolean; cancelled: boolean }>(
    `SELECT handed_at IS NOT NULL AS handed, cancelled_at IS NOT NULL AS cancelled
     FROM hook_replay WHERE id = $1 AND hook_id = $2 FOR NO KEY UPDATE`,
    [replayId, at.hook.id],
  );
  if (found === undefined) {
    throw new ReplayError('unknown_replay', `Hook ${at.hook.id} has no replay ${replayId}.`);
  }
  if (found.cancelled) return;
  if (found.handed) {
    throw new ReplayError(
      'nothing_left_to_cancel',
      'Everything of this replay was made pending already; the usual attempts go on.',
    );
  }
  await sql.query(
    'UPDATE hook_replay SET cancelled_at = now(), handed_at = now(), next_at = now() WHERE id = $1',
    [replayId],
  );
  await auditHook(sql, at, 'hook.replay_cancelled', { replay: replayId });
  await wakeReplays(sql);
}
