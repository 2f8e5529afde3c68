import type { Sql } from '@ghost/queue';

/**
 * Counts what ended of a hook's replays, before deliveries of it are sent again in another way: what was counted
 * stays so, whatever comes of them then.
 */
export async function countEnded(sql: Sql, hookId: number): Promise<void> {
  await sql.query('SELECT hook_replay_count_ended($1)', [hookId]);
}
