import {
  type Database,
  inTransaction,
  type Pool,
  publishEvent,
  schema,
  type Transaction,
} from '@ghost/db';
import { type Queue, sqlOf } from '@ghost/queue';
import type { Settings } from '@ghost/settings';
import { Inject, Injectable } from '@nestjs/common';
import { and, eq } from 'drizzle-orm';

import { AccountsService } from '../accounts/accounts.service.js';
import type { Account } from '../accounts/current-account.js';
import { DATABASE, POOL, QUEUE, SETTINGS } from '../database/tokens.js';
import { invalidField, notFound } from '../http/api-error.js';
import { actorSnapshot, repositorySnapshot } from '../snapshots.js';
import { type RepositoryAccess, requireAccess } from './repository-access.js';
import type { RepositoryPath } from './repository-path.js';
import type { NewCollaborator } from './repository-schemas.js';

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

  /** Adds a member, or changes what one may do; only the first is an event. */
  async add(
    account: Account,
    path: RepositoryPath,
    login: string,
    { permission }: NewCollaborator,
  ): Promise<void> {
    const access = await requireAccess(this.db, account, path, 'admin');
    const person = await this.requirePerson(login);
    if (person.id === access.owner.id) {
      throw invalidField('username', 'invalid', 'The owner of a repository is no collaborator.');
    }
    await inTransaction(this.pool, async (tx) => {
      const key = { repositoryId: access.repository.id, accountId: person.id };
      const added = await tx
        .insert(schema.member)
        .values({ ...key, permission })
        .onConflictDoNothing()
        .returning({ accountId: schema.member.accountId });
      if (added.length > 0) await this.publish(tx, 'member.added', access, account, person);
      else await tx.update(schema.member).set({ permission }).where(isMember(key));
    });
  }

  /**
   * Removes a member; a member may also leave. One who can read no more keeps no waiting mail: the
   * lock on the repository waits for pages of fan-out that still saw the member, and what they
   * enqueued is cancelled with the removal.
   */
  async remove(account: Account, path: RepositoryPath, login: string): Promise<void> {
    const leaves = account.login.toLowerCase() === login.toLowerCase();
    const access = await requireAccess(this.db, account, path, leaves ? 'read' : 'admin');
    const person = await this.requirePerson(login);
    await inTransaction(this.pool, async (tx) => {
      const [locked] = await tx
        .select({ private: schema.repository.private })
        .from(schema.repository)
        .where(eq(schema.repository.id, access.repository.id))
        .for('update');
      if (locked === undefined) throw notFound();
      const key = { repositoryId: access.repository.id, accountId: person.id };
      const removed = await tx
        .delete(schema.member)
        .where(isMember(key))
        .returning({ accountId: schema.member.accountId });
      if (removed.length === 0) return;
      if (locked.private) await this.queue.cancel(sqlOf(tx), key, 'access_lost');
      await this.publish(tx, 'member.removed', access, account, person);
    });
  }

  private async requirePerson(login: string): Promise<Account> {
    const person = await this.accounts.findByLogin(login);
    if (person === null) throw notFound();
    return person;
  }

  private async publish(
    tx: Transaction,
    type: 'member.added' | 'member.removed',
    { repository, owner }: RepositoryAccess,
    sender: Account,
    member: Account,
  ): Promise<void> {
    const payload = {
      repository: repositorySnapshot(this.settings.publicUrl, repository, owner),
      sender: actorSnapshot(sender),
      member: actorSnapshot(member),
    };
    await publishEvent(tx, { type, repositoryId: repository.id, payload });
  }
}

function isMember({ repositoryId, accountId }: { repositoryId: number; accountId: number }) {
  return and(eq(schema.member.repositoryId, repositoryId), eq(schema.member.accountId, accountId));
}
