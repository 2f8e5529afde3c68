import { type Database, schema } from '@ghost/db';
import { and, eq, sql } from 'drizzle-orm';

import type { Account } from '../accounts/current-account.js';
import { forbidden, notFound } from '../http/api-error.js';
import { includesPermission, type Permission, permissionOf } from './permission.js';
import type { RepositoryPath } from './repository-path.js';

/** A repository as one account sees it. */
export interface RepositoryAccess {
  repository: typeof schema.repository.$inferSelect;
  owner: { id: number; login: string; name: string };
  permission: Permission;
}

/** The owner's columns that answers and snapshots show. */
export const OWNER_COLUMNS = {
  id: schema.account.id,
  login: schema.account.login,
  name: schema.account.name,
};

/** Matches `schema.repository` joined with its owner in `schema.account`; neither counts case. */
export function isAtPath(path: RepositoryPath) {
  return and(
    eq(sql`lower(${schema.account.login})`, path.owner.toLowerCase()),
    eq(sql`lower(${schema.repository.name})`, path.repo.toLowerCase()),
  );
}

/** Matches the asker's row in `schema.member`. */
export function isMembershipOf(account: Account) {
  return and(
    eq(schema.member.repositoryId, schema.repository.id),
    eq(schema.member.accountId, account.id),
  );
}

/**
 * Finds a repository that the account may use as it `needs`.
 * @throws ApiError 404 when it is absent or may not be read, 403 when it may be read and no more
 */
export async function requireAccess(
  db: Database,
  account: Account,
  path: RepositoryPath,
  needs: Exclude<Permission, 'none'>,
): Promise<RepositoryAccess> {
  const [found] = await db
    .select({ repository: schema.repository, owner: OWNER_COLUMNS, member: schema.member })
    .from(schema.repository)
    .innerJoin(schema.account, eq(schema.account.id, schema.repository.ownerId))
    .leftJoin(schema.member, isMembershipOf(account))
    .where(isAtPath(path));
  if (found === undefined) throw notFound();
  const permission = permissionOf(account, found.repository, found.member);
  requirePermission(permission, needs);
  return { repository: found.repository, owner: found.owner, permission };
}

/** @throws ApiError as {@link requireAccess} does */
export function requirePermission(has: Permission, needs: Exclude<Permission, 'none'>): void {
  if (!includesPermission(has, 'read')) throw notFound();
  if (!includesPermission(has, needs)) {
    throw forbidden(`You need "${needs}" permission in this repository.`);
  }
}
