import type { Pool } from '@ghost/db';

import type { UnsubscribeClaim } from './unsubscribe-tokens.js';

/**
 * Ends the mails of a thread for one account; again it changes nothing.
 * @returns the thread's repository; null when the thread or the account is gone
 */
export function muteThread(pool: Pool, claim: UnsubscribeClaim): Promise<number | null> {
  return repositoryOf(
    pool,
    `INSERT INTO thread_subscription (thread_id, account_id, reason, muted)
     SELECT place.thread_id, place.account_id, 'manual', true FROM place
     ON CONFLICT (thread_id, account_id) DO UPDATE SET muted = true`,
    claim,
  );
}

/**
 * Ends the mails of all threads of a thread's repository for one account; again it changes nothing.
 * @returns the repository; null when the thread or the account is gone
 */
export function muteRepository(pool: Pool, claim: UnsubscribeClaim): Promise<number | null> {
  return repositoryOf(
    pool,
    `INSERT INTO watch (repository_id, account_id, ignored)
     SELECT place.repository_id, place.account_id, true FROM place
     ON CONFLICT (repository_id, account_id) DO UPDATE SET ignored = true`,
    claim,
  );
}

async function repositoryOf(
  pool: Pool,
  change: string,
  { threadId, accountId }: UnsubscribeClaim,
): Promise<number | null> {
  const { rows } = await pool.query<{ id: string }>(
    `WITH place AS (
       SELECT t.id AS thread_id, t.repository_id, a.id AS account_id FROM thread t, account a WHERE t.id = $1 AND a.id = $2
     ), changed AS (${change})
     SELECT repository_id AS id FROM place`,
    [threadId, accountId],
  );
  return rows[0] === undefined ? null : Number(rows[0].id);
}
