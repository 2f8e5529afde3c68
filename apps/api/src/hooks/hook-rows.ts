import { type Database, schema, type Transaction } from '@ghost/db';
import { and, asc, eq, gt, type SQL, sql } from 'drizzle-orm';

import type { Account } from '../accounts/current-account.js';
import { notFound } from '../http/api-error.js';
import type { Page } from '../http/page.js';
import {
  foundAccess,
  isMembershipOf,
  isOwnerAt,
  isReadableBy,
  isRepositoryAt,
  joinedPermission,
  ONE_ROW,
  OWNER_COLUMNS,
  REPOSITORY_ID,
  type RepositoryAccess,
  requirePermission,
} from '../repositories/repository-access.js';
import type { RepositoryPath } from '../repositories/repository-path.js';
import type { HookPath } from './hook-schemas.js';
import { keptOfHook, laneOfHook, NO_LANE, NOTHING_KEPT } from './hook-lane.js';
import type { FoundHook, HookLane, HookRow, KeptJobs } from './hook-view.js';
import { newestAttempt } from './last-response.js';

/**
 * A page of a repository's hooks, and one more when there are more.
 * @throws ApiError 404 when the repository is absent or may not be read, 403 for who is no admin
 */
export async function listHooks(
  db: Database,
  account: Account,
  path: RepositoryPath,
  page: Page,
): Promise<FoundHook[]> {
  return readHooks(db, account, path, gt(schema.hook.id, page.after ?? 0), page.per_page + 1);
}

/**
 * A hook of a repository.
 * @throws ApiError as {@link listHooks} does, and 404 for a hook that is absent or another repository's
 */
export async function findHook(db: Database, account: Account, path: HookPath): Promise<FoundHook> {
  const [found] = await readHooks(db, account, path, eq(schema.hook.id, path.id), 1);
  if (found === undefined) throw notFound();
  return found;
}

/** One statement for what the asker may do and what they see: who is removed in between sees nothing. */
async function readHooks(
  db: Database,
  account: Account,
  path: RepositoryPath,
  which: SQL,
  limit: number,
): Promise<FoundHook[]> {
  const { repository, hook } = schema;
  const { last, lane, kept, columns } = hookColumns(db);
  const isAdmin = eq(joinedPermission(account), 'admin');
  const rows = await db
    .select({
      repository,
      owner: OWNER_COLUMNS,
      permission: joinedPermission(account),
      ...columns,
    })
    .from(ONE_ROW)
    .leftJoin(schema.account, isOwnerAt(path))
    .leftJoin(repository, isRepositoryAt(path))
    .leftJoin(schema.member, isMembershipOf(account))
    .leftJoin(hook, and(eq(hook.repositoryId, REPOSITORY_ID), isAdmin, which))
    .leftJoinLateral(last, sql`true`)
    .leftJoinLateral(lane, sql`true`)
    .leftJoinLateral(kept, sql`true`)
    .where(isReadableBy(account))
    .orderBy(asc(hook.id))
    .limit(limit);
  // A repository without such a hook is one row too.
  requirePermission(foundAccess(rows[0]).permission, 'admin');
  return rows.flatMap((row) => {
    const access = foundAccess(row);
    return row.hook === null ? [] : [{ access, hook: row.hook, ...restOf(row) }];
  });
}

/**
 * Locks a hook against other edits; fan-out and delivery read it without waiting. What it returns is as it was
 * when the lock was given; of other tables the statement may have seen what was there before it waited.
 * @throws ApiError 404 when it is absent or another repository's
 */
export async function lockHook(
  tx: Transaction,
  access: RepositoryAccess,
  path: HookPath,
): Promise<HookRow> {
  const [hook] = await tx
    .select()
    .from(schema.hook)
    .where(isHook(access, path))
    .for('no key update');
  if (hook === undefined) throw notFound();
  return hook;
}

/** The live secrets of a hook that was locked, as `LockedHook` has them. */
export async function readLiveSecrets(tx: Transaction, hookId: number): Promise<string> {
  const [row] = await tx
    .select({ liveSecrets: LIVE_SECRETS })
    .from(schema.hook)
    .where(eq(schema.hook.id, hookId));
  if (row === undefined) throw notFound();
  return row.liveSecrets;
}

/** A hook that was locked, with all that answers show of it. */
export async function readHook(
  tx: Transaction,
  access: RepositoryAccess,
  path: HookPath,
): Promise<FoundHook> {
  const { last, lane, kept, columns } = hookColumns(tx);
  const [row] = await tx
    .select(columns)
    .from(schema.hook)
    .leftJoinLateral(last, sql`true`)
    .leftJoinLateral(lane, sql`true`)
    .leftJoinLateral(kept, sql`true`)
    .where(isHook(access, path));
  if (row === undefined) throw notFound();
  return { access, hook: row.hook, ...restOf(row) };
}

/** That `schema.hook` is the one of a path, for a statement that begins at {@link ONE_ROW}; for admins alone. */
export function isHookFor(account: Account, { id }: Pick<HookPath, 'id'>): SQL | undefined {
  const { hook } = schema;
  const isAdmin = eq(joinedPermission(account), 'admin');
  return and(eq(hook.repositoryId, REPOSITORY_ID), isAdmin, eq(hook.id, id));
}

/**
 * Judges what such a statement found.
 * @returns the repository's id
 * @throws ApiError as {@link findHook} does
 */
export function requireHook(
  row:
    | (Pick<RepositoryAccess, 'permission'> & {
        repository: RepositoryAccess['repository'] | null;
        owner: RepositoryAccess['owner'] | null;
        hook: object | null;
      })
    | undefined,
): number {
  const { permission, repository, hook } = foundAccess(row);
  requirePermission(permission, 'admin');
  if (hook === null) throw notFound();
  return repository.id;
}

/** Of `schema.hook`, as `LockedHook` has them. By its table's name: in a statement of one table Drizzle leaves it out. */
const LIVE_SECRETS = sql<string>`(select coalesce(string_agg(s.id::text, ',' order by s.id), '')
  from ${schema.hookSecret} s where s.hook_id = ${schema.hook}.id
    and (s.expires_at is null or s.expires_at > statement_timestamp()))`;

function isHook({ repository }: RepositoryAccess, { id }: HookPath) {
  return and(eq(schema.hook.id, id), eq(schema.hook.repositoryId, repository.id));
}

type Rest = Pick<FoundHook, 'last' | 'liveSecrets'> & {
  lane: HookLane | null;
  kept: KeptJobs | null;
};

function restOf({ last, lane, kept, liveSecrets }: Rest) {
  return {
    last,
    lane: lane ?? NO_LANE,
    kept: kept ?? NOTHING_KEPT,
    liveSecrets,
    at: new Date(),
  };
}

function hookColumns(db: Database | Transaction) {
  const last = newestAttempt(db);
  const lane = laneOfHook(db);
  const kept = keptOfHook(db, lane);
  const { outcome, reason, message, status, startedAt } = last;
  const { heldReason, heldAt, lastSuccessAt, failingSince } = lane;
  const { jobs, oldestExpiresAt } = kept;
  return {
    last,
    lane,
    kept,
    columns: {
      hook: schema.hook,
      liveSecrets: LIVE_SECRETS,
      last: { outcome, reason, message, status, startedAt },
      lane: { heldReason, heldAt, lastSuccessAt, failingSince },
      kept: { jobs, oldestExpiresAt },
    },
  };
}
