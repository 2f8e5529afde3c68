import {
  COMMENT_TEXT_EVENTS,
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
import { and, asc, eq, gt, inArray, sql } from 'drizzle-orm';

import type { Account } from '../accounts/current-account.js';
import { DATABASE, POOL, QUEUE, SETTINGS } from '../database/tokens.js';
import { notFound } from '../http/api-error.js';
import type { Precondition } from '../http/entity-tag.js';
import { Listed } from '../http/listed.js';
import { fitsPage } from '../http/page-bytes.js';
import type { Page } from '../http/page.js';
import { COMMENT_DELETED } from '../outbox/is-comment-gone.js';
import { isStillReadableBy } from '../repositories/still-readable.js';
import { holdAccess, lockAccess } from '../repositories/repository-access.js';
import {
  actorSnapshot,
  commentSnapshot,
  repositorySnapshot,
  threadPage,
  threadSnapshot,
  withMentions,
} from '../snapshots.js';
import { insertComment } from './insert-comment.js';
import { mentionPeople, takeTurnToMention } from './mention-people.js';
import { mentionsOf } from './mentions-of.js';
import {
  type CommentAccess,
  lockComment,
  requireComment,
  requireEditor,
  requireThread,
  type ThreadAccess,
} from './thread-access.js';
import type { CommentPath, NewComment, ThreadPath } from './thread-schemas.js';
import { type CommentAnswer, commentView } from './thread-view.js';

type CommentRow = typeof schema.comment.$inferSelect;

@Injectable()
export class CommentsService {
  constructor(
    @Inject(DATABASE) private readonly db: Database,
    @Inject(POOL) private readonly pool: Pool,
    @Inject(QUEUE) private readonly queue: Queue,
    @Inject(SETTINGS) private readonly settings: Pick<Settings, 'publicUrl'>,
  ) {}

  /**
   * Writes a comment and its event in one transaction; nobody else's row is touched but the thread's
   * counter, so the time does not depend on how many watch. Who comments takes part in the thread from
   * then on, unless muted. Access and what the event tells are those after the wait for the counter.
   */
  async create(account: Account, path: ThreadPath, wanted: NewComment): Promise<CommentAnswer> {
    const access = await requireThread(this.db, account, path);
    const place = { repositoryId: access.repository.id, threadId: access.thread.id };
    const logins = mentionsOf(wanted.body);
    return inTransaction(this.pool, async (tx) => {
      const { comment, now } = await insertComment(tx, place.threadId, account.id, wanted.body);
      const repository = {
        ...repositorySnapshot(this.settings.publicUrl, access.repository, access.owner),
        private: now.private,
      };
      const thread = threadSnapshot(repository, { ...access.thread, ...now.thread }, access.author);
      const shown = commentSnapshot(thread, comment, account);
      const mentioned = await mentionPeople(tx, place, logins);
      const payload = {
        repository,
        sender: actorSnapshot(account),
        thread,
        comment: withMentions(shown, mentioned),
      };
      const event = {
        type: 'comment.created',
        repositoryId: place.repositoryId,
        payload,
      } as const;
      await publishEvent(tx, event, account.cause);
      return commentView(this.settings.publicUrl, repository, thread, shown);
    });
  }

  /** A page of a thread's comments, oldest first. */
  async list(
    account: Account | null,
    path: ThreadPath,
    page: Page,
  ): Promise<Listed<CommentAnswer>> {
    const access = await requireThread(this.db, account, path);
    const { comment } = schema;
    const chosen = this.db
      .select({ id: comment.id, fits: fitsPage(comment.body, asc(comment.number)).as('fits') })
      .from(comment)
      .where(
        and(
          eq(comment.threadId, access.thread.id),
          page.after === undefined ? undefined : gt(comment.number, page.after),
        ),
      )
      .orderBy(asc(comment.number))
      .limit(page.per_page + 1)
      .as('chosen');
    const rows = await this.db
      .select({
        comment,
        author: { id: schema.account.id, login: schema.account.login, name: schema.account.name },
      })
      .from(chosen)
      .innerJoin(comment, eq(comment.id, chosen.id))
      .innerJoin(schema.account, eq(schema.account.id, comment.authorId))
      .innerJoin(schema.repository, eq(schema.repository.id, access.repository.id))
      .where(and(sql`${chosen.fits}`, isStillReadableBy(account)))
      .orderBy(asc(comment.number));
    return Listed.from(
      rows,
      page.per_page,
      'comments',
      (row) => row.comment.number,
      (row) => this.view({ ...access, author: row.author }, row.comment),
    );
  }

  async find(account: Account | null, path: CommentPath): Promise<CommentAnswer> {
    const access = await requireComment(this.db, account, path);
    return this.view(access, access.comment);
  }

  /** Whom the new text mentions beyond the old one follows the thread from then on; an edit makes no mail. */
  async edit(
    account: Account,
    path: CommentPath,
    wanted: NewComment,
    precondition: Precondition,
  ): Promise<CommentAnswer> {
    const seen = await requireComment(this.db, account, path);
    requireEditor(account, seen);
    const logins = mentionsOf(wanted.body);
    return inTransaction(this.pool, async (tx) => {
      await holdAccess(tx, account, path, 'read');
      await takeTurnToMention(tx, seen.thread.id, logins);
      const access = await lockComment(tx, account, path, path.id);
      const { comment: now } = access;
      precondition(this.view(access, now));
      if (wanted.body === now.body) return this.view(access, now);
      const [edited] = await tx
        .update(schema.comment)
        .set({ body: wanted.body, updatedAt: sql`now()` })
        .where(eq(schema.comment.id, now.id))
        .returning();
      if (edited === undefined) throw new Error('The update of a locked comment returned no row');
      const place = { repositoryId: access.repository.id, threadId: now.threadId };
      const mentioned = await mentionPeople(tx, place, logins, mentionsOf(now.body));
      await this.publish(tx, 'comment.edited', account, access, edited, mentioned);
      return this.view(access, edited);
    });
  }

  /**
   * Deletes a comment and cancels what waits to be sent of its text. The lock on the repository waits for
   * pages of fan-out that still saw the comment, so that none enqueues for it afterwards; pages that start
   * later leave it out. A worker that sends it just now finds its result void.
   */
  async remove(account: Account, path: CommentPath, precondition: Precondition): Promise<void> {
    requireEditor(account, await requireComment(this.db, account, path));
    await inTransaction(this.pool, async (tx) => {
      await lockAccess(tx, account, path, 'read');
      const access = await lockComment(tx, account, path, path.id);
      const { comment: now } = access;
      precondition(this.view(access, now));
      await tx.delete(schema.comment).where(eq(schema.comment.id, now.id));
      const events = await tx
        .select({ id: schema.outboxEvent.id })
        .from(schema.outboxEvent)
        .where(
          and(
            eq(schema.outboxEvent.commentId, now.id),
            inArray(schema.outboxEvent.type, COMMENT_TEXT_EVENTS),
          ),
        );
      const eventIds = events.map(({ id }) => id);
      if (eventIds.length > 0) {
        await this.queue.cancel(sqlOf(tx), { eventIds }, COMMENT_DELETED);
      }
      // What was deleted is not sent to anybody any more, nor by the event that says so.
      await this.publish(tx, 'comment.deleted', account, access, { ...now, body: '' }, []);
    });
  }

  private async publish(
    tx: Transaction,
    type: 'comment.edited' | 'comment.deleted',
    sender: Account,
    access: CommentAccess,
    comment: CommentRow,
    mentioned: Parameters<typeof withMentions>[1],
  ): Promise<void> {
    const repository = this.place(access);
    const [found] = await tx
      .select({
        thread: schema.thread,
        author: { id: schema.account.id, login: schema.account.login, name: schema.account.name },
      })
      .from(schema.thread)
      .innerJoin(schema.account, eq(schema.account.id, schema.thread.authorId))
      .where(eq(schema.thread.id, comment.threadId));
    if (found === undefined) throw notFound();
    const thread = threadSnapshot(repository, found.thread, found.author);
    const shown = commentSnapshot(thread, comment, access.author);
    const payload = {
      repository,
      sender: actorSnapshot(sender),
      thread,
      comment: withMentions(shown, mentioned),
    };
    const event = { type, repositoryId: access.repository.id, payload };
    await publishEvent(tx, event, sender.cause);
  }

  private view(access: CommentPlace, comment: CommentRow): CommentAnswer {
    const repository = this.place(access);
    const thread = { html_url: threadPage(repository, access.thread) };
    const shown = commentSnapshot(thread, comment, access.author);
    return commentView(this.settings.publicUrl, repository, access.thread, shown);
  }

  private place({ repository, owner }: Pick<ThreadAccess, 'repository' | 'owner'>) {
    return repositorySnapshot(this.settings.publicUrl, repository, owner);
  }
}

type CommentPlace = Pick<CommentAccess, 'repository' | 'owner' | 'author'> & {
  thread: { number: number };
};
