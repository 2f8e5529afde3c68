import { REPLAY_CHANNEL } from '@ghost/db';
import type { Sql } from '@ghost/queue';

/** Lets whoever runs replays look again, at commit. */
export async function wakeReplays(sql: Sql): Promise<void> {
  await sql.query('SELECT pg_notify($1, $2)', [REPLAY_CHANNEL, '']);
}
