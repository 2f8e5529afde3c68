import { type Database, inTransaction, type Pool, publishEvent, schema } from '@ghost/db';
import type { Settings } from '@ghost/settings';
import { Inject, Injectable } from '@nestjs/common';
import { asc, eq } from 'drizzle-orm';

import type { Account } from '../accounts/current-account.js';
import { DATABASE, POOL, SETTINGS } from '../database/tokens.js';
import {
  actorSnapshot,
  type CommentSnapshot,
  commentSnapshot,
  repositorySnapshot,
  threadSnapshot,
} from '../snapshots.js';
import type { Page } from '../http/page.js';
import { requireThread, type ThreadAccess } from './thread-access.js';
import type { NewComment, ThreadPath } from './thread-schemas.js';

@Injectable()
export class CommentsService {
  constructor(
    @Inject(DATABASE) private readonly db: Database,
    @Inject(POOL) private readonly pool: Pool,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /**
   * Writes a comment and its event in one transaction; nobody else's row is touched, so the time does
   * not depend on how many watch. Who comments takes part in the thread from then on, unless muted.
   */
  async create(account: Account, path: ThreadPath, wanted: NewComment): Promise<CommentSnapshot> {
    const access = await requireThread(this.db, account, path);
    const { place, thread } = this.snapshots(access);
    return inTransaction(this.pool, async (tx) => {
      // Two inserts, one round trip: this is the path that everybody waits for.
      const made = tx
        .$with('made')
        .as(
          tx
            .insert(schema.comment)
            .values({ threadId: access.thread.id, authorId: account.id, body: wanted.body })
            .returning(),
        );
      const joined = tx
        .$with('joined')
        .as(
          tx
            .insert(schema.threadSubscription)
            .values({ threadId: access.thread.id, accountId: account.id, reason: 'participant' })
            .onConflictDoNothing()
            .returning(),
        );
      const [comment] = await tx.with(made, joined).select().from(made);
      if (comment === undefined) throw new Error('The insert of a comment returned no row');
      const shown = commentSnapshot(thread, comment, account);
      await publishEvent(tx, {
        type: 'comment.created',
        repositoryId: access.repository.id,
        payload: { repository: place, sender: actorSnapshot(account), thread, comment: shown },
      });
      return shown;
    });
  }

  /** A page of a thread's comments, oldest first. */
  async list(account: Account, path: ThreadPath, page: Page): Promise<CommentSnapshot[]> {
    const access = await requireThread(this.db, account, path);
    const { thread } = this.snapshots(access);
    const rows = await this.db
      .select({ comment: schema.comment, author: schema.account })
      .from(schema.comment)
      .innerJoin(schema.account, eq(schema.account.id, schema.comment.authorId))
      .where(eq(schema.comment.threadId, access.thread.id))
      .orderBy(asc(schema.comment.id))
      .limit(page.per_page)
      .offset((page.page - 1) * page.per_page);
    return rows.map(({ comment, author }) => commentSnapshot(thread, comment, author));
  }

  private snapshots({ repository, owner, thread, author }: ThreadAccess) {
    const place = repositorySnapshot(this.settings.publicUrl, repository, owner);
    return { place, thread: threadSnapshot(place, thread, author) };
  }
}
