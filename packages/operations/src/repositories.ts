import type { Pool } from '@ghost/db';
import { sqlOfPool } from '@ghost/queue';

import { listLimit } from './list-limit.js';
import { findAccount } from './lock-account.js';

/** A repository, as an operator sees it. */
export interface RepositoryRow {
  id: number;
  owner: string;
  name: string;
  private: boolean;
  /** Who may use it besides the owner. */
  members: number;
  /** Who watches it; those who ignore it do not count. */
  watchers: number;
  threads: number;
  hooks: number;
  createdAt: Date;
}

export interface RepositoryList {
  /** A login, without case. */
  owner?: string;
  /** Only repositories after the one with this id. */
  after?: number;
  /** 1 to 1,000; default 50. */
  limit?: number;
}

type RepositoryRecord = Pick<RepositoryRow, 'owner' | 'name' | 'private' | 'createdAt'> &
  Record<'id' | 'members' | 'watchers' | 'threads' | 'hooks', string>;

/**
 * The repositories, the oldest first. The counts are made for the listed ones alone, each from an index.
 * @throws AccountError `unknown_login` for an owner that is none
 */
export async function listRepositories(
  pool: Pool,
  list: RepositoryList = {},
): Promise<RepositoryRow[]> {
  const sql = sqlOfPool(pool);
  const owner = list.owner === undefined ? null : await findAccount(sql, { login: list.owner });
  const limit = listLimit(list.limit);
  const { rows } = await pool.query<RepositoryRecord>(
    `WITH page AS MATERIALIZED (
       SELECT id, owner_id, name, private, created_at FROM repository
       WHERE id > $1 AND ($2::bigint IS NULL OR owner_id = $2) ORDER BY id LIMIT $3
     )
     SELECT p.id, a.login AS owner, p.name, p.private, p.created_at AS "createdAt",
       (SELECT count(*) FROM member m WHERE m.repository_id = p.id) AS members,
       (SELECT count(*) FROM watch w WHERE w.repository_id = p.id AND NOT w.ignored) AS watchers,
       (SELECT count(*) FROM thread t WHERE t.repository_id = p.id) AS threads,
       (SELECT count(*) FROM hook h WHERE h.repository_id = p.id) AS hooks
     FROM page p JOIN account a ON a.id = p.owner_id ORDER BY p.id`,
    [list.after ?? 0, owner?.id ?? null, limit],
  );
  return rows.map((row) => ({
    ...row,
    id: Number(row.id),
    members: Number(row.members),
    watchers: Number(row.watchers),
    threads: Number(row.threads),
    hooks: Number(row.hooks),
  }));
}
