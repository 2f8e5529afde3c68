import type { Pool } from '@ghost/db';

/** Who follows a thread (null: a repository), by login, and whether a mail may come to them. */
export interface Audience {
  readers: string[];
  /** Follow it, and must be recorded as left out. */
  leftOut: string[];
}

/** What people chose until now: the demo's people may have changed what the demo began with. */
export async function findAudience(
  pool: Pool,
  repositoryId: number,
  thread: number | null,
): Promise<Audience> {
  const { rows } = await pool.query<{ login: string; hears: boolean }>(
    `SELECT a.login, NOT bool_or(f.ignored)
       AND bool_or(repository_permission(r.owner_id, r.private, m.permission, a.id) <> 'none')
       AND bool_or(e.verified_at IS NOT NULL) AS hears
     FROM (
       SELECT account_id, ignored FROM watch WHERE repository_id = $1
       UNION ALL
       SELECT s.account_id, false FROM thread_subscription s JOIN thread t ON t.id = s.thread_id
       WHERE t.repository_id = $1 AND t.number = $2
     ) f
     JOIN account a ON a.id = f.account_id
     JOIN repository r ON r.id = $1
     LEFT JOIN member m ON m.repository_id = r.id AND m.account_id = a.id
     LEFT JOIN email_address e ON e.account_id = a.id AND e.is_primary
     GROUP BY a.login ORDER BY a.login`,
    [repositoryId, thread],
  );
  const logins = (hears: boolean) =>
    rows.filter((row) => row.hears === hears).map((row) => row.login);
  return { readers: logins(true), leftOut: logins(false) };
}
