import { type Database, schema } from '@ghost/db';
import type { Settings } from '@ghost/settings';
import { Inject, Injectable } from '@nestjs/common';
import { and, eq } from 'drizzle-orm';

import type { Account } from '../accounts/current-account.js';
import { DATABASE, SETTINGS } from '../database/tokens.js';
import { notFound } from '../http/api-error.js';
import { fullName } from '../repositories/repository-view.js';
import { UnwantedMailService } from '../unsubscribe/unwanted-mail.service.js';
import { requireThread, type ThreadAccess } from './thread-access.js';
import type { NewThreadSubscription, ThreadPath } from './thread-schemas.js';
import { type ThreadSubscriptionAnswer, threadUrl } from './thread-view.js';

type SubscriptionRow = typeof schema.threadSubscription.$inferSelect;

/** How an account follows a thread; what it says of a thread outweighs that it watches the repository. */
@Injectable()
export class ThreadSubscriptionsService {
  constructor(
    @Inject(DATABASE) private readonly db: Database,
    @Inject(SETTINGS) private readonly settings: Pick<Settings, 'publicUrl'>,
    @Inject(UnwantedMailService) private readonly unwanted: UnwantedMailService,
  ) {}

  /** @throws ApiError 404 when the account neither follows nor mutes the thread */
  async find(account: Account, path: ThreadPath): Promise<ThreadSubscriptionAnswer> {
    const access = await requireThread(this.db, account, path);
    const [row] = await this.db
      .select()
      .from(schema.threadSubscription)
      .where(isSubscription(access, account));
    if (row === undefined) throw notFound();
    return this.view(access, row);
  }

  /** Follows or mutes, which also ends what waits; who took part already keeps the reason. */
  async set(
    account: Account,
    path: ThreadPath,
    { subscribed, ignored: muted }: NewThreadSubscription,
  ): Promise<ThreadSubscriptionAnswer> {
    const access = await requireThread(this.db, account, path);
    if (!subscribed && !muted) {
      await this.forget(account, access);
      return this.view(access, null);
    }
    const { threadSubscription } = schema;
    const [row] = await this.db
      .insert(threadSubscription)
      .values({ threadId: access.thread.id, accountId: account.id, reason: 'manual', muted })
      .onConflictDoUpdate({
        target: [threadSubscription.threadId, threadSubscription.accountId],
        set: { muted },
      })
      .returning();
    if (row === undefined) throw new Error('The upsert of a subscription returned no row');
    if (muted) {
      const [repositoryId, threadId] = [access.repository.id, access.thread.id];
      await this.unwanted.cancel({ accountId: account.id, repositoryId, threadId });
    }
    return this.view(access, row);
  }

  async remove(account: Account, path: ThreadPath): Promise<void> {
    await this.forget(account, await requireThread(this.db, account, path));
  }

  private async forget(account: Account, access: ThreadAccess): Promise<void> {
    await this.db.delete(schema.threadSubscription).where(isSubscription(access, account));
  }

  private view(access: ThreadAccess, row: SubscriptionRow | null): ThreadSubscriptionAnswer {
    const { publicUrl } = this.settings;
    const url = threadUrl(publicUrl, { full_name: fullName(access) }, access.thread);
    return {
      subscribed: row !== null && !row.muted,
      ignored: row?.muted ?? false,
      reason: row?.reason ?? null,
      created_at: row?.createdAt.toISOString() ?? null,
      url: `${url}/subscription`,
      thread_url: url,
    };
  }
}

function isSubscription({ thread }: ThreadAccess, { id }: Account) {
  const { threadSubscription } = schema;
  return and(eq(threadSubscription.threadId, thread.id), eq(threadSubscription.accountId, id));
}
