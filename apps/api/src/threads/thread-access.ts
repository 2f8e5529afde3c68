import { type Database, schema } from '@ghost/db';
import { and, eq } from 'drizzle-orm';
import { alias } from 'drizzle-orm/pg-core';

import type { Account } from '../accounts/current-account.js';
import { notFound } from '../http/api-error.js';
import { permissionOf } from '../repositories/permission.js';
import {
  isAtPath,
  isMembershipOf,
  OWNER_COLUMNS,
  type RepositoryAccess,
  requirePermission,
} from '../repositories/repository-access.js';
import type { ActorRow } from '../snapshots.js';
import type { ThreadPath } from './thread-schemas.js';

/** A thread as one account sees it. */
export interface ThreadAccess extends RepositoryAccess {
  thread: typeof schema.thread.$inferSelect;
  author: ActorRow;
}

/**
 * Finds a thread that the account may read, and may so write in; one round trip.
 * @throws ApiError 404 when it is absent or may not be read
 */
export async function requireThread(
  db: Database,
  account: Account,
  path: ThreadPath,
): Promise<ThreadAccess> {
  const writer = alias(schema.account, 'writer');
  const [found] = await db
    .select({
      repository: schema.repository,
      owner: OWNER_COLUMNS,
      member: schema.member,
      thread: schema.thread,
      author: { id: writer.id, login: writer.login, name: writer.name },
    })
    .from(schema.repository)
    .innerJoin(schema.account, eq(schema.account.id, schema.repository.ownerId))
    .innerJoin(
      schema.thread,
      and(
        eq(schema.thread.repositoryId, schema.repository.id),
        eq(schema.thread.number, path.number),
      ),
    )
    .innerJoin(writer, eq(writer.id, schema.thread.authorId))
    .leftJoin(schema.member, isMembershipOf(account))
    .where(isAtPath(path));
  if (found === undefined) throw notFound();
  const { repository, owner, thread, author, member } = found;
  const permission = permissionOf(account, repository, member);
  requirePermission(permission, 'read');
  return { repository, owner, permission, thread, author };
}
