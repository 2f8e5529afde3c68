import { type Database, inTransaction, type Pool, schema } from '@ghost/db';
import { Inject, Injectable } from '@nestjs/common';

import type { Account } from '../accounts/current-account.js';
import { DATABASE, POOL } from '../database/tokens.js';
import { invalidField } from '../http/api-error.js';
import { type RepositoryAccess, requireAccess } from './repository-access.js';
import type { RepositoryPath } from './repository-path.js';
import type { NewRepository } from './repository-schemas.js';

@Injectable()
export class RepositoriesService {
  constructor(
    @Inject(DATABASE) private readonly db: Database,
    @Inject(POOL) private readonly pool: Pool,
  ) {}

  /** Makes a repository of the account; its owner watches it from the start. */
  async create(account: Account, wanted: NewRepository): Promise<RepositoryAccess> {
    return inTransaction(this.pool, async (tx) => {
      const [repository] = await tx
        .insert(schema.repository)
        .values({
          ownerId: account.id,
          name: wanted.name,
          private: wanted.private,
          description: wanted.description ?? null,
        })
        .onConflictDoNothing()
        .returning();
      if (repository === undefined) {
        throw invalidField('name', 'already_exists', 'You have a repository of this name.');
      }
      await tx.insert(schema.threadCounter).values({ repositoryId: repository.id });
      await tx.insert(schema.watch).values({ repositoryId: repository.id, accountId: account.id });
      return { repository, owner: account, permission: 'admin' };
    });
  }

  async find(account: Account, path: RepositoryPath): Promise<RepositoryAccess> {
    return requireAccess(this.db, account, path, 'read');
  }
}
