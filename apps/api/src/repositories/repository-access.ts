import {
  type Database,
  type Permission,
  PERMISSIONS,
  permissionSql,
  schema,
  type Transaction,
} from '@ghost/db';
import { eq, ne, type Placeholder, type SQL, sql } from 'drizzle-orm';

import type { Account } from '../accounts/current-account.js';
import { forbidden, notFound, unauthorized } from '../http/api-error.js';
import type { RepositoryPath } from './repository-path.js';

type Owner = { id: number; login: string; name: string };

/** A repository as one account, or somebody without one, sees it. */
export interface RepositoryAccess {
  repository: typeof schema.repository.$inferSelect;
  owner: Owner;
  permission: Permission;
}

/** The columns of a person (the owner, a member) that answers and snapshots show. */
export const OWNER_COLUMNS = {
  id: schema.account.id,
  login: schema.account.login,
  name: schema.account.name,
};

/** What the asker may do in `schema.repository`. */
export function permissionColumn(account: { id: number } | null) {
  return permissionSql(idOf(account));
}

/**
 * Where a statement begins that asks for one repository on behalf of somebody: one row, to which owner,
 * repository and membership are joined by {@link isOwnerAt}, {@link isRepositoryAt} and
 * {@link isMembershipOf}, and which {@link isReadableBy} leaves out unless the asker may read. What is
 * absent is looked for by the same probes as what is private, so that the time does not tell them apart.
 * Measured at the database, 4,000 tries each, private against absent: AUC 0.512 to 0.524 while the
 * membership was looked up only where there is a repository, 0.494 to 0.507 so.
 */
export const ONE_ROW = sql`(select) one`;

/** The id of the joined repository; no row has 0. */
export const REPOSITORY_ID = sql<number>`coalesce(${schema.repository.id}, 0)`;

/** Who asks; by a placeholder in a statement that is put together once. */
type Asker = { id: number | Placeholder } | null;

export function isOwnerAt({ owner }: { owner: string | Placeholder }): SQL {
  return sql`lower(${schema.account.login}) = lower(${owner})`;
}

export function isRepositoryAt({ repo }: { repo: string | Placeholder }): SQL {
  const { ownerId, name } = schema.repository;
  return sql`${ownerId} = coalesce(${schema.account.id}, 0) and lower(${name}) = lower(${repo})`;
}

export function isMembershipOf(account: Asker): SQL {
  const { repositoryId, accountId } = schema.member;
  return sql`${repositoryId} = ${REPOSITORY_ID} and ${accountId} = ${idOf(account)}`;
}

/** What the asker may do, by the joins; in what is absent, as in what is private: nothing. */
export function joinedPermission(account: Asker): SQL<Permission> {
  const { ownerId, private: hidden } = schema.repository;
  return sql<Permission>`repository_permission(coalesce(${ownerId}, 0), coalesce(${hidden}, true), ${schema.member.permission}, ${idOf(account)})`;
}

export function isReadableBy(account: Asker): SQL {
  return ne(joinedPermission(account), 'none');
}

function idOf(account: Asker): SQL {
  return sql`${account?.id ?? null}::bigint`;
}

/**
 * Finds a repository that the account may use as it `needs`.
 * @throws ApiError 404 when it is absent or may not be read, 403 when it may be read and no more
 */
export async function requireAccess(
  db: Database | Transaction,
  account: Account | null,
  path: RepositoryPath,
  needs: Exclude<Permission, 'none'>,
): Promise<RepositoryAccess> {
  const [found] = await db
    .select({
      repository: schema.repository,
      owner: OWNER_COLUMNS,
      permission: joinedPermission(account),
    })
    .from(ONE_ROW)
    .leftJoin(schema.account, isOwnerAt(path))
    .leftJoin(schema.repository, isRepositoryAt(path))
    .leftJoin(schema.member, isMembershipOf(account))
    .where(isReadableBy(account));
  const access = foundAccess(found);
  requirePermission(access.permission, needs);
  return access;
}

/** @throws ApiError 404 when nothing was found */
export function foundAccess<
  T extends { repository: RepositoryAccess['repository'] | null; owner: Owner | null },
>(found: T | undefined): T & Pick<RepositoryAccess, 'repository' | 'owner'> {
  if (found === undefined) throw notFound();
  const { repository, owner } = found;
  if (repository === null || owner === null) throw notFound();
  return { ...found, repository, owner };
}

/** @throws ApiError as {@link requireAccess} does */
export function requirePermission(has: Permission, needs: Exclude<Permission, 'none'>): void {
  if (!includesPermission(has, 'read')) throw notFound();
  if (!includesPermission(has, needs)) {
    throw forbidden(`You need "${needs}" permission in this repository.`);
  }
}

/** Whether `has` includes `needs`. */
export function includesPermission(has: Permission, needs: Permission): boolean {
  return PERMISSIONS.indexOf(has) >= PERMISSIONS.indexOf(needs);
}

/**
 * {@link requireAccess} for whoever takes a reason to send away (access, a hook, a comment), and holds this
 * while cancelling: waits for pages of fan-out that are open on the repository, keeps new ones waiting, then
 * judges again, so that of two who take access from each other only the first succeeds. Until the
 * transaction ends nobody's access to the repository changes. It does not stand in the way of posting, whose
 * foreign keys lock less. The order of locks is the same everywhere: the gate, the repository, then a hook
 * or what is written, then lanes.
 * @throws ApiError as requireAccess does, and 401 when the token ended meanwhile
 */
export async function lockAccess(
  tx: Transaction,
  account: Account,
  path: RepositoryPath,
  needs: Exclude<Permission, 'none'>,
): Promise<RepositoryAccess> {
  const seen = await requireAccess(tx, account, path, needs);
  await passGate(tx, seen.repository.id, 'alone');
  await lockRepository(tx, seen.repository.id, 'no key update');
  return judgeAgain(tx, account, path, needs);
}

/**
 * {@link lockAccess} for a change that takes no reason to send away: it waits for changes of access, which
 * wait for it, and for no page of fan-out, as that shares the repository's row as well. Not to be followed
 * by lockAccess in the same transaction: of two who hold this, neither could go on.
 * @throws ApiError as lockAccess does
 */
export async function holdAccess(
  tx: Transaction,
  account: Account,
  path: RepositoryPath,
  needs: Exclude<Permission, 'none'>,
): Promise<RepositoryAccess> {
  const seen = await requireAccess(tx, account, path, needs);
  await passGate(tx, seen.repository.id, 'together');
  await lockRepository(tx, seen.repository.id, 'share');
  return judgeAgain(tx, account, path, needs);
}

/** @throws ApiError 404 when the repository is gone */
async function lockRepository(
  tx: Transaction,
  repositoryId: number,
  strength: 'no key update' | 'share',
): Promise<void> {
  const locked = await tx
    .select({ id: schema.repository.id })
    .from(schema.repository)
    .where(eq(schema.repository.id, repositoryId))
    .for(strength);
  if (locked.length === 0) throw notFound();
}

/**
 * A lock that is given in the order of asking. A row's is not: while one shares it others may join, and who
 * asks for it alone waits for ever. So an admin who pinged a hook without a pause could not be removed.
 */
async function passGate(tx: Transaction, repositoryId: number, how: 'alone' | 'together') {
  const key = sql`hashtextextended(${`access to ${repositoryId}`}, 0)`;
  await tx.execute(
    how === 'alone'
      ? sql`SELECT pg_advisory_xact_lock(${key})`
      : sql`SELECT pg_advisory_xact_lock_shared(${key})`,
  );
}

/** What the account may do, and whether its token still counts, in a statement that sees what it waited for. */
async function judgeAgain(
  tx: Transaction,
  account: Account,
  path: RepositoryPath,
  needs: Exclude<Permission, 'none'>,
): Promise<RepositoryAccess> {
  const [found] = await tx
    .select({
      repository: schema.repository,
      owner: OWNER_COLUMNS,
      permission: joinedPermission(account),
      tokenIsLive: isLiveTokenOf(account),
    })
    .from(ONE_ROW)
    .leftJoin(schema.account, isOwnerAt(path))
    .leftJoin(schema.repository, isRepositoryAt(path))
    .leftJoin(schema.member, isMembershipOf(account));
  if (found?.tokenIsLive !== true) throw unauthorized('bad_credentials', 'Bad credentials');
  const { repository, owner, permission } = foundAccess(found);
  requirePermission(permission, needs);
  return { repository, owner, permission };
}

function isLiveTokenOf({ token }: Account): SQL<boolean> {
  const { id, revokedAt, expiresAt } = schema.apiToken;
  // By the time of the statement: the transaction may have begun before it waited.
  return sql<boolean>`exists (select from ${schema.apiToken} where ${id} = ${token.id}
    and ${revokedAt} is null and (${expiresAt} is null or ${expiresAt} > statement_timestamp()))`;
}
