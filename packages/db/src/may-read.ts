import { and, eq, type SQL, type SQLWrapper, sql } from 'drizzle-orm';

import type { Transaction } from './pool.js';
import { member, repository } from './schema.js';

/**
 * Who may read a repository, for whole audiences: its owner, its members, and anybody where it is
 * public. For a statement that has `schema.repository` among its tables; `accountId` is a column or an
 * expression of the account's id. The API's `permissionOf` says the same of one person; a test
 * compares the two.
 */
export function mayReadSql(accountId: SQLWrapper): SQL<boolean> {
  return sql<boolean>`(not ${repository.private} or ${repository.ownerId} = ${accountId} or exists (
    select from ${member}
    where ${member.repositoryId} = ${repository.id} and ${member.accountId} = ${accountId}))`;
}

/**
 * Whether an account may read a repository now, and until this transaction ends: its row is locked
 * FOR SHARE, and whoever takes access away locks it FOR UPDATE first.
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
    .where(and(eq(repository.id, repositoryId), mayReadSql(sql`${accountId}`)));
  return found.length === 1;
}
