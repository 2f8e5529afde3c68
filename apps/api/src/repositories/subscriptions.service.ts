import { type Database, mayReadSql, schema } from '@ghost/db';
import { Inject, Injectable } from '@nestjs/common';
import { and, asc, eq, gt } from 'drizzle-orm';

import type { Account, Person } from '../accounts/current-account.js';
import { DATABASE } from '../database/tokens.js';
import { notFound } from '../http/api-error.js';
import { UnwantedMailService } from '../unsubscribe/unwanted-mail.service.js';
import { OWNER_COLUMNS, type RepositoryAccess, requireAccess } from './repository-access.js';
import type { RepositoryPath } from './repository-path.js';
import type { PeopleQuery } from './repository-queries.js';
import { isStillReadableBy } from './still-readable.js';
import type { NewSubscription } from './subscription-schemas.js';

/** A person's own choice for a repository. */
export interface Subscription {
  access: RepositoryAccess;
  subscribed: boolean;
  ignored: boolean;
  createdAt: Date;
}

@Injectable()
export class SubscriptionsService {
  constructor(
    @Inject(DATABASE) private readonly db: Database,
    @Inject(UnwantedMailService) private readonly unwanted: UnwantedMailService,
  ) {}

  /** @throws ApiError 404 as well when there is no choice, as GitHub answers */
  async find(account: Account, path: RepositoryPath): Promise<Subscription> {
    const access = await requireAccess(this.db, account, path, 'read');
    const [found] = await this.db.select().from(schema.watch).where(isChoice(access, account));
    if (found === undefined) throw notFound();
    const { ignored, createdAt } = found;
    return { access, subscribed: !ignored, ignored, createdAt };
  }

  /** Watches or ignores, which also ends what waits. */
  async set(
    account: Account,
    path: RepositoryPath,
    { subscribed, ignored }: NewSubscription,
  ): Promise<Subscription> {
    const access = await requireAccess(this.db, account, path, 'read');
    if (!subscribed && !ignored) {
      await this.db.delete(schema.watch).where(isChoice(access, account));
      return { access, subscribed, ignored, createdAt: new Date() };
    }
    const [kept] = await this.db
      .insert(schema.watch)
      .values({ repositoryId: access.repository.id, accountId: account.id, ignored })
      .onConflictDoUpdate({
        target: [schema.watch.repositoryId, schema.watch.accountId],
        set: { ignored },
      })
      .returning({ createdAt: schema.watch.createdAt });
    if (kept === undefined) throw new Error('The upsert of a watch returned no row');
    if (ignored) {
      await this.unwanted.cancel({ accountId: account.id, repositoryId: access.repository.id });
    }
    return { access, subscribed, ignored, createdAt: kept.createdAt };
  }

  async remove(account: Account, path: RepositoryPath): Promise<void> {
    const access = await requireAccess(this.db, account, path, 'read');
    await this.db.delete(schema.watch).where(isChoice(access, account));
  }

  /** Who watches and may read it, by account id: one more than a page holds. */
  async watchers(
    account: Account | null,
    path: RepositoryPath,
    { per_page: perPage, after = 0 }: PeopleQuery,
  ): Promise<Person[]> {
    const { watch, repository } = schema;
    const access = await requireAccess(this.db, account, path, 'read');
    return this.db
      .select(OWNER_COLUMNS)
      .from(watch)
      .innerJoin(repository, eq(repository.id, watch.repositoryId))
      .innerJoin(schema.account, eq(schema.account.id, watch.accountId))
      .where(
        and(
          eq(watch.repositoryId, access.repository.id),
          eq(watch.ignored, false),
          gt(watch.accountId, after),
          // A watch outlives the loss of access, so that it is there when access comes back.
          mayReadSql(watch.accountId),
          isStillReadableBy(account),
        ),
      )
      .orderBy(asc(watch.accountId))
      .limit(perPage + 1);
  }
}

function isChoice({ repository }: RepositoryAccess, account: Account) {
  return and(eq(schema.watch.repositoryId, repository.id), eq(schema.watch.accountId, account.id));
}
