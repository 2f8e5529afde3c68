import {
  type Database,
  inTransaction,
  type Pool,
  publishEvent,
  schema,
  type Transaction,
} from '@ghost/db';
import type { Settings } from '@ghost/settings';
import { Inject, Injectable } from '@nestjs/common';
import { and, asc, desc, eq, gt, lt, sql } from 'drizzle-orm';

import type { Account } from '../accounts/current-account.js';
import { DATABASE, POOL, SETTINGS } from '../database/tokens.js';
import { notFound } from '../http/api-error.js';
import type { Precondition } from '../http/entity-tag.js';
import { Listed } from '../http/listed.js';
import { fitsPage } from '../http/page-bytes.js';
import {
  holdAccess,
  OWNER_COLUMNS,
  type RepositoryAccess,
  requireAccess,
} from '../repositories/repository-access.js';
import type { RepositoryPath } from '../repositories/repository-path.js';
import { isStillReadableBy } from '../repositories/still-readable.js';
import { actorSnapshot, repositorySnapshot, threadSnapshot, withMentions } from '../snapshots.js';
import { mentionPeople, takeTurnToMention } from './mention-people.js';
import { mentionsOf } from './mentions-of.js';
import { lockThread, requireEditor, requireThread, type ThreadAccess } from './thread-access.js';
import type { NewThread, ThreadChanges, ThreadPath, ThreadsPage } from './thread-schemas.js';
import { type ThreadAnswer, threadView } from './thread-view.js';

type ThreadRow = typeof schema.thread.$inferSelect;

@Injectable()
export class ThreadsService {
  constructor(
    @Inject(DATABASE) private readonly db: Database,
    @Inject(POOL) private readonly pool: Pool,
    @Inject(SETTINGS) private readonly settings: Pick<Settings, 'publicUrl'>,
  ) {}

  /**
   * Opens a thread; whoever may read the repository may. Its author takes part in it. Access and what the
   * event tells are those after the wait for the counter.
   */
  async open(account: Account, path: RepositoryPath, wanted: NewThread): Promise<ThreadAnswer> {
    const { repository: seen } = await requireAccess(this.db, account, path, 'read');
    const repositoryId = seen.id;
    const logins = mentionsOf(wanted.body);
    return inTransaction(this.pool, async (tx) => {
      const number = await nextNumber(tx, repositoryId);
      const access = await requireAccess(tx, account, path, 'read');
      const [thread] = await tx
        .insert(schema.thread)
        .values({
          repositoryId,
          number,
          authorId: account.id,
          title: wanted.title,
          body: wanted.body,
        })
        .returning();
      if (thread === undefined) throw new Error('The insert of a thread returned no row');
      await tx.insert(schema.commentCounter).values({ threadId: thread.id });
      await tx
        .insert(schema.threadSubscription)
        .values({ threadId: thread.id, accountId: account.id, reason: 'author' });
      const mentioned = await mentionPeople(tx, { repositoryId, threadId: thread.id }, logins);
      const { repository, shown } = this.snapshots({ ...access, author: account }, thread);
      const payload = {
        repository,
        sender: actorSnapshot(account),
        thread: withMentions(shown, mentioned),
      };
      await publishEvent(tx, { type: 'thread.opened', repositoryId, payload }, account.cause);
      return threadView(this.settings.publicUrl, repository, shown);
    });
  }

  async find(account: Account | null, path: ThreadPath): Promise<ThreadAnswer> {
    const access = await requireThread(this.db, account, path);
    return this.view(access, access.thread);
  }

  /** A page of a repository's threads, by number. */
  async list(
    account: Account | null,
    path: RepositoryPath,
    page: ThreadsPage,
  ): Promise<Listed<ThreadAnswer>> {
    const access = await requireAccess(this.db, account, path, 'read');
    const { thread } = schema;
    const newestFirst = page.direction === 'desc';
    const beyond = newestFirst ? lt : gt;
    const order = newestFirst ? desc(thread.number) : asc(thread.number);
    const chosen = this.db
      .select({ id: thread.id, fits: fitsPage(thread.body, order).as('fits') })
      .from(thread)
      .where(
        and(
          eq(thread.repositoryId, access.repository.id),
          page.state === 'all' ? undefined : eq(thread.state, page.state),
          page.after === undefined ? undefined : beyond(thread.number, page.after),
        ),
      )
      .orderBy(order)
      .limit(page.per_page + 1)
      .as('chosen');
    const rows = await this.db
      .select({ thread, author: OWNER_COLUMNS })
      .from(chosen)
      .innerJoin(thread, eq(thread.id, chosen.id))
      .innerJoin(schema.account, eq(schema.account.id, thread.authorId))
      .innerJoin(schema.repository, eq(schema.repository.id, thread.repositoryId))
      .where(and(sql`${chosen.fits}`, isStillReadableBy(account)))
      .orderBy(order);
    return Listed.from(
      rows,
      page.per_page,
      'threads',
      (row) => row.thread.number,
      (row) => this.view({ ...access, author: row.author }, row.thread),
    );
  }

  /**
   * Changes what differs, under the thread's lock: of two who close a thread at once, one closes it. A new
   * title or text is no event; closing and reopening are. Comments leave `updated_at` alone, as their
   * writers would wait here for each other.
   */
  async edit(
    account: Account,
    path: ThreadPath,
    wanted: ThreadChanges,
    precondition: Precondition,
  ): Promise<ThreadAnswer> {
    const seen = await requireThread(this.db, account, path);
    requireEditor(account, seen);
    const logins = mentionsOf(wanted.body ?? '');
    return inTransaction(this.pool, async (tx) => {
      await holdAccess(tx, account, path, 'read');
      await takeTurnToMention(tx, seen.thread.id, logins);
      const access = await lockThread(tx, account, path, seen.thread.id);
      const { thread: now } = access;
      precondition(this.view(access, now));
      const next = {
        title: wanted.title ?? now.title,
        body: wanted.body ?? now.body,
        state: wanted.state ?? now.state,
      };
      const turned = next.state !== now.state;
      if (!turned && next.title === now.title && next.body === now.body) {
        return this.view(access, now);
      }
      const [edited] = await tx
        .update(schema.thread)
        .set({
          ...next,
          updatedAt: sql`now()`,
          ...(turned ? { closedAt: next.state === 'closed' ? sql`now()` : null } : {}),
        })
        .where(eq(schema.thread.id, now.id))
        .returning();
      if (edited === undefined) throw new Error('The update of a locked thread returned no row');
      const place = { repositoryId: now.repositoryId, threadId: now.id };
      if (next.body !== now.body) await mentionPeople(tx, place, logins, mentionsOf(now.body));
      if (turned) await this.publishTurn(tx, account, access, edited);
      return this.view(access, edited);
    });
  }

  private async publishTurn(
    tx: Transaction,
    sender: Account,
    access: ThreadAccess,
    thread: ThreadRow,
  ): Promise<void> {
    const { repository, shown } = this.snapshots(access, thread);
    const type = thread.state === 'closed' ? 'thread.closed' : 'thread.reopened';
    const payload = { repository, sender: actorSnapshot(sender), thread: shown };
    await publishEvent(tx, { type, repositoryId: thread.repositoryId, payload }, sender.cause);
  }

  private view(place: Place, thread: ThreadRow): ThreadAnswer {
    const { repository, shown } = this.snapshots(place, thread);
    return threadView(this.settings.publicUrl, repository, shown);
  }

  private snapshots({ repository: row, owner, author }: Place, thread: ThreadRow) {
    const repository = repositorySnapshot(this.settings.publicUrl, row, owner);
    return { repository, shown: threadSnapshot(repository, thread, author) };
  }
}

type Place = Pick<RepositoryAccess, 'repository' | 'owner'> & Pick<ThreadAccess, 'author'>;

async function nextNumber(tx: Transaction, repositoryId: number): Promise<number> {
  const [counter] = await tx
    .update(schema.threadCounter)
    .set({ last: sql`${schema.threadCounter.last} + 1` })
    .where(eq(schema.threadCounter.repositoryId, repositoryId))
    .returning({ number: schema.threadCounter.last });
  // The counter goes first when the repository is deleted.
  if (counter === undefined) throw notFound();
  return counter.number;
}
