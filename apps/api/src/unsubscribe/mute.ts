import type { Pool } from '@ghost/db';

import type { UnsubscribeClaim } from './unsubscribe-tokens.js';

/**
 * Ends the mails of a thread for one account; again it changes nothing.
 * @returns false when the thread or the account is gone
 */
export async function muteThread(pool: Pool, claim: UnsubscribeClaim): Promise<boolean> {
  const { rowCount } = await pool.query(
    `INSERT INTO thread_subscription (thread_id, account_id, reason, muted)
     SELECT t.id, a.id, 'manual', true FROM thread t, account a WHERE t.id = $1 AND a.id = $2
     ON CONFLICT (thread_id, account_id) DO UPDATE SET muted = true`,
    [claim.threadId, claim.accountId],
  );
  return rowCount === 1;
}

/**
 * Ends the mails of all threads of a thread's repository for one account; again it changes nothing.
 * @returns false when the thread or the account is gone
 */
export async function muteRepository(pool: Pool, claim: UnsubscribeClaim): Promise<boolean> {
  const { rowCount } = await pool.query(
    `INSERT INTO watch (repository_id, account_id, ignored)
     SELECT t.repository_id, a.id, true FROM thread t, account a WHERE t.id = $1 AND a.id = $2
     ON CONFLICT (repository_id, account_id) DO UPDATE SET ignored = true`,
    [claim.threadId, claim.accountId],
  );
  return rowCount === 1;
}
