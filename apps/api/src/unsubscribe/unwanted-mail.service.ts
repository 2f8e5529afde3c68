import type { Pool } from '@ghost/db';
import { type Queue, sqlOfPool } from '@ghost/queue';
import { Inject, Injectable } from '@nestjs/common';

import { POOL, QUEUE } from '../database/tokens.js';
import { UnsubscribeTokens } from './unsubscribe-tokens.js';

/** Whose mails of a repository, and of which of its threads; left out: of all. */
export interface UnwantedMail {
  accountId: number;
  repositoryId: number;
  threadId?: number;
}

/** Each mail of a thread, and no other, holds the token of its own unsubscribe link. */
const WAITING = `
  SELECT id, own #>> '{slots,u}' AS token FROM delivery_job
  WHERE repository_id = $1 AND account_id = $2 AND status = 'pending' AND own #>> '{slots,u}' IS NOT NULL ORDER BY id`;

/** Ends the mails that wait for somebody who wants no more of them. */
@Injectable()
export class UnwantedMailService {
  constructor(
    @Inject(POOL) private readonly pool: Pool,
    @Inject(QUEUE) private readonly queue: Queue,
    @Inject(UnsubscribeTokens) private readonly tokens: UnsubscribeTokens,
  ) {}

  /**
   * To be called once the choice is committed, so that it holds no lock of theirs while it waits for lanes; again it
   * changes nothing. What a page of fan-out enqueues that is open just now is sent.
   * @returns how many were cancelled
   */
  async cancel({ accountId, repositoryId, threadId }: UnwantedMail): Promise<number> {
    const sql = sqlOfPool(this.pool);
    const waiting = await sql.query<{ id: string; token: string }>(WAITING, [
      repositoryId,
      accountId,
    ]);
    const ofThread = ({ token }: { token: string }) =>
      threadId === undefined || this.tokens.verify(token)?.threadId === threadId;
    const jobIds = waiting.filter(ofThread).map(({ id }) => id);
    if (jobIds.length === 0) return 0;
    return this.queue.cancel(sql, { jobIds }, threadId === undefined ? 'ignored' : 'muted');
  }
}
