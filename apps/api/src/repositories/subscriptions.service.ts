import { type Database, schema } from '@ghost/db';
import { Inject, Injectable } from '@nestjs/common';
import { and, eq } from 'drizzle-orm';

import type { Account } from '../accounts/current-account.js';
import { DATABASE } from '../database/tokens.js';
import { notFound } from '../http/api-error.js';
import { type RepositoryAccess, requireAccess } from './repository-access.js';
import type { RepositoryPath } from './repository-path.js';
import type { NewSubscription } from './repository-schemas.js';

/** A person's own choice for a repository. */
export interface Subscription {
  access: RepositoryAccess;
  subscribed: boolean;
  ignored: boolean;
  createdAt: Date | null;
}

@Injectable()
export class SubscriptionsService {
  constructor(@Inject(DATABASE) private readonly db: Database) {}

  /** @throws ApiError 404 as well when there is no choice, as GitHub answers */
  async find(account: Account, path: RepositoryPath): Promise<Subscription> {
    const access = await requireAccess(this.db, account, path, 'read');
    const [found] = await this.db.select().from(schema.watch).where(isChoice(access, account));
    if (found === undefined) throw notFound();
    const { ignored, createdAt } = found;
    return { access, subscribed: !ignored, ignored, createdAt };
  }

  async set(
    account: Account,
    path: RepositoryPath,
    { subscribed, ignored }: NewSubscription,
  ): Promise<Subscription> {
    const access = await requireAccess(this.db, account, path, 'read');
    if (!subscribed && !ignored) {
      await this.db.delete(schema.watch).where(isChoice(access, account));
      return { access, subscribed, ignored, createdAt: null };
    }
    const [kept] = await this.db
      .insert(schema.watch)
      .values({ repositoryId: access.repository.id, accountId: account.id, ignored })
      .onConflictDoUpdate({
        target: [schema.watch.repositoryId, schema.watch.accountId],
        set: { ignored },
      })
      .returning({ createdAt: schema.watch.createdAt });
    return { access, subscribed, ignored, createdAt: kept?.createdAt ?? null };
  }

  async remove(account: Account, path: RepositoryPath): Promise<void> {
    const access = await requireAccess(this.db, account, path, 'read');
    await this.db.delete(schema.watch).where(isChoice(access, account));
  }
}

function isChoice({ repository }: RepositoryAccess, account: Account) {
  return and(eq(schema.watch.repositoryId, repository.id), eq(schema.watch.accountId, account.id));
}
