import {
  COMMENT_TEXT_EVENTS,
  type Database,
  databaseErrorCode,
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
import type { Page } from '../http/page.js';
import { COMMENT_DELETED } from '../outbox/is-comment-gone.js';
import { lockOutFanout } from '../repositories/repository-access.js';
import {
  actorSnapshot,
  commentSnapshot,
  repositorySnapshot,
  threadPage,
  threadSnapshot,
  withMentions,
} from '../snapshots.js';
import { mentionPeople } from './mention-people.js';
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

/** not_null_violation, foreign_key_violation: the thread went, with its counter, since it was looked up. */
const THREAD_GONE_STATES: ReadonlySet<string | undefined> = new Set(['23502', '23503']);

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
   * then on, unless muted.
   */
  async create(account: Account, path: ThreadPath, wanted: NewComment): Promise<CommentAnswer> {
    const access = await requireThread(this.db, account, path);
    const repository = this.place(access);
    const thread = threadSnapshot(repository, access.thread, access.author);
    const place = { repositoryId: access.repository.id, threadId: access.thread.id };
    return inTransaction(this.pool, async (tx) => {
      const comment = await insertComment(tx, place.threadId, account.id, wanted.body);
      const shown = commentSnapshot(thread, comment, account);
      const mentioned = await mentionPeople(tx, place, wanted.body);
      await publishEvent(tx, {
        type: 'comment.created',
        repositoryId: place.repositoryId,
        payload: {
          repository,
          sender: actorSnapshot(account),
          thread,
          comment: withMentions(shown, mentioned),
        },
      });
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
    const rows = await this.db
      .select({
        comment,
        author: { id: schema.account.id, login: schema.account.login, name: schema.account.name },
      })
      .from(comment)
      .innerJoin(schema.account, eq(schema.account.id, comment.authorId))
      .where(
        and(
          eq(comment.threadId, access.thread.id),
          page.after === undefined ? undefined : gt(comment.number, page.after),
        ),
      )
      .orderBy(asc(comment.number))
      .limit(page.per_page + 1);
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
    const access = await requireComment(this.db, account, path);
    requireEditor(account, access);
    return inTransaction(this.pool, async (tx) => {
      const now = await lockComment(tx, path.id);
      precondition(this.view(access, now));
      if (wanted.body === now.body) return this.view(access, now);
      const [edited] = await tx
        .update(schema.comment)
        .set({ body: wanted.body, updatedAt: sql`now()` })
        .where(eq(schema.comment.id, now.id))
        .returning();
      if (edited === undefined) throw new Error('The update of a locked comment returned no row');
      const place = { repositoryId: access.repository.id, threadId: now.threadId };
      const mentioned = await mentionPeople(tx, place, wanted.body, now.body);
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
    const access = await requireComment(this.db, account, path);
    requireEditor(account, access);
    await inTransaction(this.pool, async (tx) => {
      await lockOutFanout(tx, access.repository.id);
      const now = await lockComment(tx, path.id);
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
    await publishEvent(tx, {
      type,
      repositoryId: access.repository.id,
      payload: {
        repository,
        sender: actorSnapshot(sender),
        thread,
        comment: withMentions(shown, mentioned),
      },
    });
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

/**
 * Gives the comment its number, writes it and makes its author take part: one round trip, as everybody
 * waits for it. The counter's row is locked until the commit, so numbers have no gaps and no repeats.
 * @throws ApiError 404 when the thread is gone
 */
async function insertComment(
  tx: Transaction,
  threadId: number,
  authorId: number,
  body: string,
): Promise<CommentRow> {
  const counter = schema.commentCounter;
  const counted = tx.$with('counted').as(
    tx
      .update(counter)
      .set({ last: sql`${counter.last} + 1` })
      .where(eq(counter.threadId, threadId))
      .returning({ last: counter.last }),
  );
  const number = sql`(select last from counted)`;
  const made = tx
    .$with('made')
    .as(tx.insert(schema.comment).values({ threadId, number, authorId, body }).returning());
  const joined = tx
    .$with('joined')
    .as(
      tx
        .insert(schema.threadSubscription)
        .values({ threadId, accountId: authorId, reason: 'participant' })
        .onConflictDoNothing()
        .returning(),
    );
  try {
    const [comment] = await tx.with(counted, made, joined).select().from(made);
    if (comment === undefined) throw new Error('The insert of a comment returned no row');
    return comment;
  } catch (error) {
    if (THREAD_GONE_STATES.has(databaseErrorCode(error))) throw notFound();
    throw error;
  }
}
