import { and, eq, type SQL, type SQLWrapper, sql } from 'drizzle-orm';

import type { Transaction } from './pool.js';
import { member, repository } from './schema.js';

/** What an account may do in a repository; each includes those before it. */
export const PERMISSIONS = ['none', 'read', 'write', 'admin'] as const;
export type Permission = (typeof PERMISSIONS)[number];

/**
 * What an account may do in `schema.repository`, for a statement that has it among its tables. The rule
 * is the SQL function `repository_permission`, for routes and for whole audiences alike. `accountId` is a
 * column or an expression of the account's id; null is somebody without an account.
 */
export function permissionSql(accountId: SQLWrapper): SQL<Permission> {
  return sql<Permission>`repository_permission(${repository.ownerId}, ${repository.private}, (
    select ${member.permission} from ${member}
    where ${member.repositoryId} = ${repository.id} and ${member.accountId} = ${accountId}), ${accountId})`;
}

/** Whether {@link permissionSql} is at least "read". */
export function mayReadSql(accountId: SQLWrapper): SQL<boolean> {
  return sql<boolean>`(${permissionSql(accountId)} <> 'none')`;
}

/**
 * Whether an account may read a repository now, and until this transaction ends: its row is locked
 * FOR SHARE, and whoever takes access away locks it FOR NO KEY UPDATE or stronger first.
 */
export async function mayStillRead(
  tx: Transaction,
  repositoryId: number,
  accountId: number,
): Promise<boolean> {
  const locked = tx
    .select({ id: repository.id })
    .from(repository)
    .where(eq(repository.id, repositoryId))
    .for('share');
  if ((await locked).length === 0) return false;
  const found = await tx
    .select({ id: repository.id })
    .from(repository)
    .where(and(eq(repository.id, repositoryId), mayReadSql(sql`${accountId}::bigint`)));
  return found.length === 1;
}
