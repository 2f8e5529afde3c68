import { assertNever } from '@ghost/contract';
import { type Database, schema } from '@ghost/db';
import { Inject, Injectable } from '@nestjs/common';
import { and, asc, desc, eq, gt, gte, lt, lte, ne, type SQL, sql } from 'drizzle-orm';

import { AccountsService } from '../accounts/accounts.service.js';
import type { Account } from '../accounts/current-account.js';
import { DATABASE } from '../database/tokens.js';
import { notFound } from '../http/api-error.js';
import { OWNER_COLUMNS, permissionColumn, type RepositoryAccess } from './repository-access.js';
import type {
  OwnRepositoriesQuery,
  RepositoriesOfQuery,
  WatchedQuery,
} from './repository-queries.js';

interface Walk {
  per_page: number;
  after?: number | undefined;
  direction?: 'asc' | 'desc';
}

/** Lists of repositories by id, each of those that the asker may read: one row more than a page holds. */
@Injectable()
export class RepositoryListsService {
  constructor(
    @Inject(DATABASE) private readonly db: Database,
    @Inject(AccountsService) private readonly accounts: AccountsService,
  ) {}

  /** Those that the account owns or is a member of. */
  async own(account: Account, query: OwnRepositoriesQuery): Promise<RepositoryAccess[]> {
    const { private: hidden, updatedAt } = schema.repository;
    const { owner, member, visibility } = wantedOf(query);
    const { since, before } = query;
    return this.read(account, query, [
      isOf(account.id, { owner, member }),
      visibility === 'all' ? undefined : eq(hidden, visibility === 'private'),
      since === undefined ? undefined : gte(updatedAt, new Date(since)),
      before === undefined ? undefined : lte(updatedAt, new Date(before)),
    ]);
  }

  /**
   * Those of somebody that the asker may read.
   * @throws ApiError 404 when there is nobody of that login
   */
  async of(
    account: Account | null,
    login: string,
    query: RepositoriesOfQuery,
  ): Promise<RepositoryAccess[]> {
    const person = await this.accounts.findByLogin(login);
    if (person === null) throw notFound();
    const { type } = query;
    const wanted = { owner: type !== 'member', member: type !== 'owner' };
    return this.read(account, query, [isOf(person.id, wanted)]);
  }

  /** Those that the account watches. */
  async watched(account: Account, query: WatchedQuery): Promise<RepositoryAccess[]> {
    const watched = sql`${schema.repository.id} in (
      select w.repository_id from ${schema.watch} w where w.account_id = ${account.id} and not w.ignored)`;
    return this.read(account, query, [watched]);
  }

  private async read(
    account: Account | null,
    { per_page: perPage, after, direction = 'asc' }: Walk,
    conditions: (SQL | undefined)[],
  ): Promise<RepositoryAccess[]> {
    const { repository } = schema;
    const permission = permissionColumn(account);
    const [beyond, order] = direction === 'asc' ? [gt, asc] : [lt, desc];
    return this.db
      .select({ repository, owner: OWNER_COLUMNS, permission })
      .from(repository)
      .innerJoin(schema.account, eq(schema.account.id, repository.ownerId))
      .where(
        and(
          ...conditions,
          ne(permission, 'none'),
          after === undefined ? undefined : beyond(repository.id, after),
        ),
      )
      .orderBy(order(repository.id))
      .limit(perPage + 1);
  }
}

function isOf(accountId: number, { owner, member }: { owner: boolean; member: boolean }): SQL {
  // By id from two indexes; an OR over both tables would read every repository.
  return sql`${schema.repository.id} in (
    select o.id from ${schema.repository} o where o.owner_id = ${accountId} and ${owner}
    union all
    select m.repository_id from ${schema.member} m where m.account_id = ${accountId} and ${member})`;
}

function wantedOf({ type, visibility = 'all', affiliation }: OwnRepositoriesQuery) {
  switch (type) {
    case 'owner':
      return { owner: true, member: false, visibility: 'all' };
    case 'member':
      return { owner: false, member: true, visibility: 'all' };
    case 'public':
    case 'private':
      return { owner: true, member: true, visibility: type };
    case 'all':
    case undefined:
      return {
        owner: affiliation?.includes('owner') ?? true,
        member: affiliation?.includes('collaborator') ?? true,
        visibility,
      };
    default:
      return assertNever(type);
  }
}
