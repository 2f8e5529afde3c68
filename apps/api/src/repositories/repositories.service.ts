import { type Database, inTransaction, type Pool, schema, type Transaction } from '@ghost/db';
import { type Queue, sqlOf } from '@ghost/queue';
import { Inject, Injectable } from '@nestjs/common';
import { eq, inArray, sql } from 'drizzle-orm';

import type { Account } from '../accounts/current-account.js';
import { CancellingService } from '../cancelling/cancelling.service.js';
import { DATABASE, POOL, QUEUE } from '../database/tokens.js';
import { invalidField, missingScope } from '../http/api-error.js';
import { auditAccess } from './audit-access.js';
import { cancelUnreadableMail } from './cancel-unreadable-mail.js';
import { lockAccess, type RepositoryAccess, requireAccess } from './repository-access.js';
import type { RepositoryPath } from './repository-path.js';
import type { NewRepository, RepositoryEdit } from './repository-schemas.js';
import { visibilityOf } from './repository-view.js';

/** Throws when the asker's `If-Match` does not name what they see now. */
export type AccessPrecondition = (current: RepositoryAccess) => void;

@Injectable()
export class RepositoriesService {
  constructor(
    @Inject(DATABASE) private readonly db: Database,
    @Inject(POOL) private readonly pool: Pool,
    @Inject(QUEUE) private readonly queue: Queue,
    @Inject(CancellingService) private readonly cancelling: CancellingService,
  ) {}

  /** Makes a repository of the account; its owner watches it from the start. */
  async create(account: Account, wanted: NewRepository): Promise<RepositoryAccess> {
    return inTransaction(this.pool, async (tx) => {
      const [repository] = await tx
        .insert(schema.repository)
        .values({ ownerId: account.id, ...wanted })
        .onConflictDoNothing()
        .returning();
      if (repository === undefined) {
        throw invalidField('name', 'already_exists', 'You have a repository of this name.');
      }
      await tx.insert(schema.threadCounter).values({ repositoryId: repository.id });
      await tx.insert(schema.watch).values({ repositoryId: repository.id, accountId: account.id });
      const access: RepositoryAccess = { repository, owner: account, permission: 'admin' };
      const detail = { after: visibilityOf(repository) };
      await auditAccess(tx, access, { action: 'repository.created', actor: account, detail });
      return access;
    });
  }

  async find(account: Account | null, path: RepositoryPath): Promise<RepositoryAccess> {
    return requireAccess(this.db, account, path, 'read');
  }

  /** Changes what is described, and who may read it: whoever can no more keeps no waiting mail. */
  async edit(
    account: Account,
    path: RepositoryPath,
    wanted: RepositoryEdit,
    precondition: AccessPrecondition,
  ): Promise<RepositoryAccess> {
    return inTransaction(this.pool, async (tx) => {
      const access = await lockAccess(tx, account, path, 'admin');
      precondition(access);
      const { repository } = access;
      if (wanted.name !== undefined && wanted.name !== repository.name) {
        throw invalidField('name', 'not_offered', 'Renaming a repository is not offered.');
      }
      const next = {
        private: wanted.private ?? repository.private,
        description: wanted.description === undefined ? repository.description : wanted.description,
      };
      const turned = next.private !== repository.private;
      if (turned && !account.token.scopes.includes('admin')) throw missingScope('admin');
      if (!turned && next.description === repository.description) return access;
      const [changed] = await tx
        .update(schema.repository)
        .set({ ...next, updatedAt: sql`now()` })
        .where(eq(schema.repository.id, repository.id))
        .returning();
      if (changed === undefined) throw new Error('The update of a locked repository found no row');
      if (turned) {
        const detail = { before: visibilityOf(repository), after: visibilityOf(changed) };
        const action = 'repository.visibility_changed';
        await auditAccess(tx, access, { action, actor: account, detail });
        if (changed.private) await cancelUnreadableMail(tx, this.queue, changed.id);
      }
      return { ...access, repository: changed };
    });
  }

  /**
   * Deletes a repository with all that is in it; what waits for it is sent no more, and cancelled behind. Its events
   * stay, as does what was sent; those that fan-out has not seen yet find nobody.
   */
  async remove(
    account: Account,
    path: RepositoryPath,
    precondition: AccessPrecondition,
  ): Promise<void> {
    await inTransaction(this.pool, async (tx) => {
      const access = await lockAccess(tx, account, path, 'admin');
      precondition(access);
      const { repository } = access;
      const detail = { before: visibilityOf(repository) };
      await auditAccess(tx, access, { action: 'repository.deleted', actor: account, detail });
      const hooks = await tx
        .select({ hookId: schema.hook.id })
        .from(schema.hook)
        .where(eq(schema.hook.repositoryId, repository.id));
      await clearOut(tx, repository.id);
      await tx.delete(schema.repository).where(eq(schema.repository.id, repository.id));
      const targets = [...hooks, { repositoryId: repository.id }];
      await this.queue.cancelLater(sqlOf(tx), targets, 'repository_deleted');
    });
    this.cancelling.wake();
  }
}

/**
 * Waits for whoever opens a thread or comments, and lets nobody begin: each locks first what is deleted
 * here, in this order. A deletion that met them half-way would wait for them while they wait for it. Whoever
 * edits or deletes holds the repository, and so is through already (docs/decisions/0035).
 */
async function clearOut(tx: Transaction, repositoryId: number): Promise<void> {
  const { comment, commentCounter, thread, threadCounter } = schema;
  await tx.delete(threadCounter).where(eq(threadCounter.repositoryId, repositoryId));
  const threads = tx
    .select({ id: thread.id })
    .from(thread)
    .where(eq(thread.repositoryId, repositoryId));
  await tx.delete(commentCounter).where(inArray(commentCounter.threadId, threads));
  await tx.delete(comment).where(inArray(comment.threadId, threads));
}
