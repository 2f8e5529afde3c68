import { schema } from '@ghost/db';
import { type SQL, type SQLWrapper, sql } from 'drizzle-orm';

/** What an account may do in a repository; each includes those before it. */
export const PERMISSIONS = ['none', 'read', 'write', 'admin'] as const;
export type Permission = (typeof PERMISSIONS)[number];

/**
 * The one rule of access. The owner may everything, a member what the membership says, anybody reads
 * what is public. An operator's `is_admin` gives nothing here: it must not open private repositories.
 * {@link mayReadSql} says the same of reading, in SQL.
 */
export function permissionOf(
  account: { id: number },
  repository: { ownerId: number; private: boolean },
  member: { permission: Exclude<Permission, 'none'> } | null,
): Permission {
  if (repository.ownerId === account.id) return 'admin';
  if (member !== null) return member.permission;
  return repository.private ? 'none' : 'read';
}

/** Whether `has` includes `needs`. */
export function includesPermission(has: Permission, needs: Permission): boolean {
  return PERMISSIONS.indexOf(has) >= PERMISSIONS.indexOf(needs);
}

/**
 * The twin of {@link permissionOf} for whole audiences: true where the account may read the
 * repository. For a statement that has `schema.repository` among its tables; `accountId` is a column
 * or an expression of the account's id.
 */
export function mayReadSql(accountId: SQLWrapper): SQL<boolean> {
  const { member, repository } = schema;
  return sql<boolean>`(not ${repository.private} or ${repository.ownerId} = ${accountId} or exists (
    select from ${member}
    where ${member.repositoryId} = ${repository.id} and ${member.accountId} = ${accountId}))`;
}
