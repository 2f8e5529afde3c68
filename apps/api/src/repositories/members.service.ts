import {
  type Database,
  inTransaction,
  type Permission,
  type Pool,
  publishEvent,
  schema,
  type Transaction,
} from '@ghost/db';
import { type Queue, sqlOf } from '@ghost/queue';
import type { Settings } from '@ghost/settings';
import { Inject, Injectable } from '@nestjs/common';
import { and, asc, eq, inArray, type SQL, sql } from 'drizzle-orm';

import { AccountsService } from '../accounts/accounts.service.js';
import type { Account, Person } from '../accounts/current-account.js';
import { DATABASE, POOL, QUEUE, SETTINGS } from '../database/tokens.js';
import { invalidField, notFound } from '../http/api-error.js';
import { actorSnapshot, repositorySnapshot } from '../snapshots.js';
import { auditAccess } from './audit-access.js';
import {
  type MemberPermission,
  type NewCollaborator,
  PERMISSION_OF_NAME,
} from './collaborator-schemas.js';
import type { Collaborator } from './collaborator-view.js';
import {
  includesPermission,
  lockAccess,
  OWNER_COLUMNS,
  permissionColumn,
  type RepositoryAccess,
  requireAccess,
} from './repository-access.js';
import type { RepositoryPath } from './repository-path.js';
import type { CollaboratorsQuery } from './repository-queries.js';

const WRITERS: Permission[] = ['write', 'admin'];
const LEVELS: readonly MemberPermission[] = ['read', 'write', 'admin'];

/** Who may use a repository besides its owner. */
@Injectable()
export class MembersService {
  constructor(
    @Inject(DATABASE) private readonly db: Database,
    @Inject(POOL) private readonly pool: Pool,
    @Inject(QUEUE) private readonly queue: Queue,
    @Inject(SETTINGS) private readonly settings: Settings,
    @Inject(AccountsService) private readonly accounts: AccountsService,
  ) {}

  /** The owner and the members by account id: one more than a page holds. */
  async list(
    account: Account,
    path: RepositoryPath,
    { per_page: perPage, after = 0, affiliation, permission }: CollaboratorsQuery,
  ): Promise<Collaborator[]> {
    const { repository, owner } = await requireAccess(this.db, account, path, 'write');
    const least = permission === undefined ? 'read' : PERMISSION_OF_NAME[permission];
    const enough = LEVELS.filter((level) => includesPermission(level, least));
    const page = { repositoryId: repository.id, after, limit: perPage + 1 };
    const members: Collaborator[] = await this.db
      .select({ ...OWNER_COLUMNS, permission: schema.member.permission })
      .from(schema.member)
      .innerJoin(schema.account, eq(schema.account.id, schema.member.accountId))
      .innerJoin(schema.repository, eq(schema.repository.id, schema.member.repositoryId))
      .where(
        and(
          eq(schema.member.repositoryId, repository.id),
          inArray(schema.member.accountId, sql`(${membersOf(page, enough)})`),
          inArray(permissionColumn(account), WRITERS),
        ),
      )
      .orderBy(asc(schema.member.accountId))
      .limit(perPage + 1);
    if (affiliation !== 'outside' && owner.id > after) {
      members.push({ ...owner, permission: 'admin' });
    }
    return members.sort((one, other) => one.id - other.id).slice(0, perPage + 1);
  }

  /** @throws ApiError 404 as well when the person is no collaborator */
  async requireCollaborator(account: Account, path: RepositoryPath, login: string): Promise<void> {
    const access = await requireAccess(this.db, account, path, 'write');
    const person = await this.requirePerson(login);
    if (person.id === access.owner.id) return;
    const key = { repositoryId: access.repository.id, accountId: person.id };
    const [found] = await this.db.select().from(schema.member).where(isMember(key));
    if (found === undefined) throw notFound();
  }

  /** What anybody may do here, collaborator or not. */
  async permissionOf(account: Account, path: RepositoryPath, login: string): Promise<Collaborator> {
    const access = await requireAccess(this.db, account, path, 'write');
    const person = await this.requirePerson(login);
    const [found] = await this.db
      .select({ permission: permissionColumn(person) })
      .from(schema.repository)
      .where(eq(schema.repository.id, access.repository.id));
    if (found === undefined) throw notFound();
    return { ...person, permission: found.permission };
  }

  /** Adds a member, or changes what one may do; only the first is an event. */
  async add(
    account: Account,
    path: RepositoryPath,
    login: string,
    { permission }: NewCollaborator,
  ): Promise<void> {
    await requireAccess(this.db, account, path, 'admin');
    const person = await this.requirePerson(login);
    await inTransaction(this.pool, async (tx) => {
      const access = await lockAccess(tx, account, path, 'admin');
      requireNotOwner(access, person);
      const key = { repositoryId: access.repository.id, accountId: person.id };
      const [before] = await tx.select().from(schema.member).where(isMember(key));
      if (before?.permission === permission) return;
      const detail = { before: before?.permission ?? null, after: permission };
      const change = { actor: account, subject: person, detail };
      if (before === undefined) {
        await tx.insert(schema.member).values({ ...key, permission });
        await this.publish(tx, 'member.added', access, account, person);
        await auditAccess(tx, access, { action: 'member.added', ...change });
      } else {
        await tx.update(schema.member).set({ permission }).where(isMember(key));
        await auditAccess(tx, access, { action: 'member.changed', ...change });
      }
    });
  }

  /**
   * Removes a member; a member may also leave. One who can read no more keeps no waiting mail: the
   * lock on the repository waits for pages of fan-out that still saw the member, and what they
   * enqueued is cancelled with the removal.
   */
  async remove(account: Account, path: RepositoryPath, login: string): Promise<void> {
    const leaves = account.login.toLowerCase() === login.toLowerCase();
    const needs = leaves ? 'read' : 'admin';
    await requireAccess(this.db, account, path, needs);
    const person = await this.requirePerson(login);
    await inTransaction(this.pool, async (tx) => {
      const access = await lockAccess(tx, account, path, needs);
      requireNotOwner(access, person);
      const key = { repositoryId: access.repository.id, accountId: person.id };
      const [removed] = await tx.delete(schema.member).where(isMember(key)).returning();
      if (removed === undefined) return;
      const detail = { before: removed.permission, after: null };
      const change = { actor: account, subject: person, detail };
      await auditAccess(tx, access, { action: 'member.removed', ...change });
      await this.publish(tx, 'member.removed', access, account, person);
      if (access.repository.private) await this.queue.cancel(sqlOf(tx), key, 'access_lost');
    });
  }

  private async requirePerson(login: string): Promise<Person> {
    const person = await this.accounts.findByLogin(login);
    if (person === null) throw notFound();
    return person;
  }

  private async publish(
    tx: Transaction,
    type: 'member.added' | 'member.removed',
    { repository, owner }: RepositoryAccess,
    sender: Account,
    member: Person,
  ): Promise<void> {
    const payload = {
      repository: repositorySnapshot(this.settings.publicUrl, repository, owner),
      sender: actorSnapshot(sender),
      member: actorSnapshot(member),
    };
    await publishEvent(tx, { type, repositoryId: repository.id, payload }, sender.cause);
  }
}

/**
 * The next members of some levels, by account id. Each level is walked by an index of its own, and only as
 * far as the page goes, however few of a repository's members are of it.
 */
function membersOf(
  { repositoryId, after, limit }: { repositoryId: number; after: number; limit: number },
  levels: readonly MemberPermission[],
): SQL {
  const pages = levels.map(
    (level) => sql`(
      select m.account_id from ${schema.member} m
      where m.repository_id = ${repositoryId} and m.permission = ${level} and m.account_id > ${after}
      order by m.account_id limit ${limit})`,
  );
  return sql.join(pages, sql` union all `);
}

function isMember({ repositoryId, accountId }: { repositoryId: number; accountId: number }) {
  return and(eq(schema.member.repositoryId, repositoryId), eq(schema.member.accountId, accountId));
}

function requireNotOwner(access: RepositoryAccess, person: Person): void {
  if (person.id !== access.owner.id) return;
  const message = 'The owner of a repository has every permission, and is no member.';
  throw invalidField('username', 'invalid', message);
}
