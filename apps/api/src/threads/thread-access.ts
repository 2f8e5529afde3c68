import { type Database, schema, type Transaction, UNNAMED } from '@ghost/db';
import { and, eq, sql } from 'drizzle-orm';
import { alias } from 'drizzle-orm/pg-core';

import type { Account } from '../accounts/current-account.js';
import { forbidden } from '../http/api-error.js';
import {
  foundAccess,
  includesPermission,
  isMembershipOf,
  isOwnerAt,
  isReadableBy,
  isRepositoryAt,
  joinedPermission,
  ONE_ROW,
  OWNER_COLUMNS,
  REPOSITORY_ID,
  type RepositoryAccess,
} from '../repositories/repository-access.js';
import type { ActorRow } from '../snapshots.js';
import type { CommentPath, ThreadPath } from './thread-schemas.js';

type ThreadRow = typeof schema.thread.$inferSelect;
type CommentRow = typeof schema.comment.$inferSelect;

/** A thread as one account sees it. */
export interface ThreadAccess extends RepositoryAccess {
  thread: ThreadRow;
  author: ActorRow;
}

/** A comment as one account sees it; the author is the comment's. */
export interface CommentAccess extends RepositoryAccess {
  thread: { id: number; number: number };
  comment: CommentRow;
  author: ActorRow;
}

const writer = alias(schema.account, 'writer');
const WRITER_COLUMNS = { id: writer.id, login: writer.login, name: writer.name };

/** What {@link prepareThread} takes in place of an account and of a path. */
const ASKER = { id: sql.placeholder('asker') };
const AT = { owner: sql.placeholder('owner'), repo: sql.placeholder('repo') };

/** By what runs it: everybody who posts waits for it, and putting it together took longer than asking it. */
const prepared = new WeakMap<object, ReturnType<typeof prepareThread>>();

/**
 * Finds a thread that the account may read, and may so write in; one round trip.
 * @throws ApiError 404 when it is absent or may not be read
 */
export async function requireThread(
  db: Database | Transaction,
  account: Account | null,
  { owner, repo, number }: ThreadPath,
): Promise<ThreadAccess> {
  const statement = prepared.get(db) ?? prepareThread(db);
  prepared.set(db, statement);
  const [found] = await statement.execute({ asker: account?.id ?? null, owner, repo, number });
  return foundAccess(found);
}

function prepareThread(db: Database | Transaction) {
  const { repository, thread } = schema;
  const isThreadAt = and(
    eq(thread.repositoryId, REPOSITORY_ID),
    eq(thread.number, sql.placeholder('number')),
  );
  return db
    .select({
      repository,
      owner: OWNER_COLUMNS,
      permission: joinedPermission(ASKER),
      thread,
      author: WRITER_COLUMNS,
    })
    .from(ONE_ROW)
    .leftJoin(schema.account, isOwnerAt(AT))
    .leftJoin(repository, isRepositoryAt(AT))
    .leftJoin(schema.member, isMembershipOf(ASKER))
    .innerJoin(thread, isThreadAt)
    .innerJoin(writer, eq(writer.id, thread.authorId))
    .where(isReadableBy(ASKER))
    .prepare(UNNAMED);
}

/**
 * Finds a comment of a repository that the account may read; one round trip.
 * @throws ApiError 404 when it is absent, of another repository, or may not be read
 */
export async function requireComment(
  db: Database | Transaction,
  account: Account | null,
  path: CommentPath,
): Promise<CommentAccess> {
  const { repository, thread, comment } = schema;
  const [found] = await db
    .select({
      repository,
      owner: OWNER_COLUMNS,
      permission: joinedPermission(account),
      thread: { id: thread.id, number: thread.number },
      comment,
      author: WRITER_COLUMNS,
    })
    .from(ONE_ROW)
    .leftJoin(schema.account, isOwnerAt(path))
    .leftJoin(repository, isRepositoryAt(path))
    .leftJoin(schema.member, isMembershipOf(account))
    .innerJoin(comment, eq(comment.id, path.id))
    .innerJoin(thread, and(eq(thread.id, comment.threadId), eq(thread.repositoryId, REPOSITORY_ID)))
    .innerJoin(writer, eq(writer.id, comment.authorId))
    .where(isReadableBy(account));
  return foundAccess(found);
}

/**
 * Lets pass who wrote a text, or may write in its repository.
 * @throws ApiError 403 for anybody else
 */
export function requireEditor(
  account: Account,
  { permission, author }: Pick<ThreadAccess, 'permission' | 'author'>,
): void {
  if (account.id === author.id || includesPermission(permission, 'write')) return;
  throw forbidden(
    'Only its author, or who has "write" permission in this repository, may do that.',
  );
}

/**
 * The thread as it is now, locked until the transaction ends, for somebody who may still edit it. The lock
 * lets comments pass: their foreign key locks less.
 * @throws ApiError as {@link requireThread} and {@link requireEditor} do
 */
export async function lockThread(
  tx: Transaction,
  account: Account,
  path: ThreadPath,
  threadId: number,
): Promise<ThreadAccess> {
  const { id } = schema.thread;
  await tx.select({ id }).from(schema.thread).where(eq(id, threadId)).for('no key update');
  return editable(account, await requireThread(tx, account, path));
}

/**
 * The comment as it is now, locked until the transaction ends, for somebody who may still edit it.
 * @throws ApiError as {@link requireComment} and {@link requireEditor} do
 */
export async function lockComment(
  tx: Transaction,
  account: Account,
  path: CommentPath,
  commentId: number,
): Promise<CommentAccess> {
  const { id } = schema.comment;
  await tx.select({ id }).from(schema.comment).where(eq(id, commentId)).for('no key update');
  return editable(account, await requireComment(tx, account, path));
}

function editable<T extends ThreadAccess | CommentAccess>(account: Account, access: T): T {
  requireEditor(account, access);
  return access;
}
