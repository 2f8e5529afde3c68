import { type Database, inTransaction, type Pool, publishEvent, schema } from '@ghost/db';
import type { Settings } from '@ghost/settings';
import { Inject, Injectable } from '@nestjs/common';
import { eq, sql } from 'drizzle-orm';

import type { Account } from '../accounts/current-account.js';
import { DATABASE, POOL, SETTINGS } from '../database/tokens.js';
import { requireAccess } from '../repositories/repository-access.js';
import type { RepositoryPath } from '../repositories/repository-path.js';
import {
  actorSnapshot,
  repositorySnapshot,
  type ThreadSnapshot,
  threadSnapshot,
} from '../snapshots.js';
import { requireThread } from './thread-access.js';
import type { NewThread, ThreadPath } from './thread-schemas.js';

@Injectable()
export class ThreadsService {
  constructor(
    @Inject(DATABASE) private readonly db: Database,
    @Inject(POOL) private readonly pool: Pool,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** Opens a thread; whoever may read the repository may. Its author takes part in it. */
  async open(account: Account, path: RepositoryPath, wanted: NewThread): Promise<ThreadSnapshot> {
    const { repository, owner } = await requireAccess(this.db, account, path, 'read');
    return inTransaction(this.pool, async (tx) => {
      const [counter] = await tx
        .update(schema.threadCounter)
        .set({ last: sql`${schema.threadCounter.last} + 1` })
        .where(eq(schema.threadCounter.repositoryId, repository.id))
        .returning({ number: schema.threadCounter.last });
      if (counter === undefined)
        throw new Error(`Repository ${repository.id} has no thread counter`);
      const [thread] = await tx
        .insert(schema.thread)
        .values({
          repositoryId: repository.id,
          number: counter.number,
          authorId: account.id,
          title: wanted.title,
          body: wanted.body,
        })
        .returning();
      if (thread === undefined) throw new Error('The insert of a thread returned no row');
      await tx
        .insert(schema.threadSubscription)
        .values({ threadId: thread.id, accountId: account.id, reason: 'author' });
      const place = repositorySnapshot(this.settings.publicUrl, repository, owner);
      const shown = threadSnapshot(place, thread, account);
      await publishEvent(tx, {
        type: 'thread.opened',
        repositoryId: repository.id,
        payload: { repository: place, sender: actorSnapshot(account), thread: shown },
      });
      return shown;
    });
  }

  async find(account: Account, path: ThreadPath): Promise<ThreadSnapshot> {
    const { repository, owner, thread, author } = await requireThread(this.db, account, path);
    const place = repositorySnapshot(this.settings.publicUrl, repository, owner);
    return threadSnapshot(place, thread, author);
  }
}
