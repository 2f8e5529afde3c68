import { assertNever } from '@ghost/contract';
import { type Database, schema } from '@ghost/db';
import { Inject, Injectable } from '@nestjs/common';
import { and, asc, desc, eq, gte, lte, ne, type SQL, type SQLWrapper, sql } from 'drizzle-orm';

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
  since?: Date | undefined;
  before?: Date | undefined;
}

/** Where repositories of a list come from: the tables beside `repository`, in what order, and which rows. */
interface Source {
  from: SQL;
  key: SQLWrapper;
  where: SQL;
}

const { member, repository, watch } = schema;

/**
 * Lists of repositories by id, each of those that the asker may read: one row more than a page holds. A list
 * may have several sources; each is walked in the order of an index and only as far as the page goes, so a
 * page costs the same of 10 repositories and of 100,000.
 */
@Injectable()
export class RepositoryListsService {
  constructor(
    @Inject(DATABASE) private readonly db: Database,
    @Inject(AccountsService) private readonly accounts: AccountsService,
  ) {}

  /** Those that the account owns or is a member of. */
  async own(account: Account, query: OwnRepositoriesQuery): Promise<RepositoryAccess[]> {
    const wanted = wantedOf(query);
    const sources: Source[] = [];
    if (wanted.owner && wanted.visibility !== 'private') sources.push(ownedBy(account, false));
    if (wanted.owner && wanted.visibility !== 'public') sources.push(ownedBy(account, true));
    if (wanted.member) sources.push(joinedBy(account, ofVisibility(wanted.visibility)));
    return this.read(account, query, sources);
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
    const sources: Source[] = [];
    if (query.type !== 'member') {
      sources.push(ownedBy(person, false));
      // Of the private ones of somebody else, the asker reads those that the asker is a member of.
      if (account?.id === person.id) sources.push(ownedBy(person, true));
      else if (account !== null) sources.push(joinedBy(account, ofOwner(person)));
    }
    if (query.type !== 'owner') sources.push(joinedBy(person));
    return this.read(account, query, sources);
  }

  /** Those that the account watches. */
  async watched(account: Account, query: WatchedQuery): Promise<RepositoryAccess[]> {
    return this.read(account, query, [watchedBy(account)]);
  }

  private async read(
    account: Account | null,
    walk: Walk,
    sources: readonly Source[],
  ): Promise<RepositoryAccess[]> {
    if (sources.length === 0) return [];
    const permission = permissionColumn(account);
    const order = walk.direction === 'desc' ? desc : asc;
    const limit = walk.per_page + 1;
    const readable = ne(permission, 'none');
    const pages = sources.map(
      ({ from, key, where }) => sql`(
        select ${repository.id} from ${from} where ${and(where, beyond(key, walk), changedIn(walk), readable)}
        order by ${order(sql`${key}`)} limit ${limit})`,
    );
    return this.db
      .select({ repository, owner: OWNER_COLUMNS, permission })
      .from(repository)
      .innerJoin(schema.account, eq(schema.account.id, repository.ownerId))
      .where(and(sql`${repository.id} in (${sql.join(pages, sql` union all `)})`, readable))
      .orderBy(order(repository.id))
      .limit(limit);
  }
}

/** By one of two partial indexes, which also hold the condition. */
function ownedBy(owner: { id: number }, hidden: boolean): Source {
  const isHidden = hidden ? sql`${repository.private}` : sql`not ${repository.private}`;
  const where = sql`${repository.ownerId} = ${owner.id} and ${isHidden}`;
  return { from: sql`${repository}`, key: repository.id, where };
}

function joinedBy(person: { id: number }, only: SQL = sql`true`): Source {
  return {
    from: sql`${member} join ${repository} on ${repository.id} = ${member.repositoryId}`,
    key: member.repositoryId,
    where: sql`${member.accountId} = ${person.id} and ${only}`,
  };
}

function watchedBy(person: { id: number }): Source {
  return {
    from: sql`${watch} join ${repository} on ${repository.id} = ${watch.repositoryId}`,
    key: watch.repositoryId,
    where: sql`${watch.accountId} = ${person.id} and not ${watch.ignored}`,
  };
}

function ofOwner(owner: { id: number }): SQL {
  return sql`${repository.ownerId} = ${owner.id} and ${repository.private}`;
}

function ofVisibility(visibility: 'all' | 'public' | 'private'): SQL {
  return visibility === 'all' ? sql`true` : eq(repository.private, visibility === 'private');
}

function beyond(key: SQLWrapper, { after, direction }: Walk): SQL | undefined {
  if (after === undefined) return undefined;
  return direction === 'desc' ? sql`${key} < ${after}` : sql`${key} > ${after}`;
}

function changedIn({ since, before }: Walk): SQL | undefined {
  return and(
    since === undefined ? undefined : gte(repository.updatedAt, since),
    before === undefined ? undefined : lte(repository.updatedAt, before),
  );
}

interface Wanted {
  owner: boolean;
  member: boolean;
  visibility: 'all' | 'public' | 'private';
}

function wantedOf({ type, visibility = 'all', affiliation }: OwnRepositoriesQuery): Wanted {
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
