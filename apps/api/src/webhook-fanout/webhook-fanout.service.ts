import type { Transaction } from '@ghost/db';
import { hookLane, type NewJob, type Queue, type Sql, sqlOf } from '@ghost/queue';
import { Inject, Injectable } from '@nestjs/common';
import { uuidv7 } from 'uuidv7';

import { QUEUE } from '../database/tokens.js';
import {
  type FanoutConsumer,
  type FanoutEvent,
  type FanoutPage,
  NOTHING_TO_SEND,
} from '../outbox/fanout-consumer.js';
import { isCommentGone } from '../outbox/is-comment-gone.js';
import { type HookChoice, hookScope, skipHook } from './choose-hook.js';
import { webhookBody } from './webhook-body.js';

/** Hooks a page; repositories have a handful, and the bound keeps memory constant for any. */
const PAGE_SIZE = 1000;

/** Turns an event into one webhook for each hook of its repository that asked for it. */
@Injectable()
export class WebhookFanoutService implements FanoutConsumer {
  constructor(@Inject(QUEUE) private readonly queue: Queue) {}

  async page(tx: Transaction, event: FanoutEvent, cursor: string | null): Promise<FanoutPage> {
    const scope = hookScope(event);
    if (scope.scope === 'none') return NOTHING_TO_SEND;
    const sql = sqlOf(tx);
    const only = scope.scope === 'hook' ? scope.hookId : null;
    const hooks = await findHooks(sql, event.repositoryId, only, Number(cursor ?? 0));
    const gone = hooks.length > 0 && (await isCommentGone(tx, event));
    const chosen = hooks.map((hook) => ({ hook, skip: skipHook(hook, event.type, gone) }));
    const targets = chosen.filter(({ skip }) => skip === null).map(({ hook }) => hook.id);
    const skips = chosen.flatMap(({ hook, skip }) =>
      skip === null ? [] : [{ targetKind: 'hook' as const, targetId: hook.id, reason: skip }],
    );
    const jobs = targets.length === 0 ? [] : await this.makeJobs(sql, event, targets);
    const last = hooks.at(-1);
    const next = last === undefined || hooks.length < PAGE_SIZE ? null : String(last.id);
    return { jobs, skips, cursor: next };
  }

  private async makeJobs(sql: Sql, event: FanoutEvent, hookIds: number[]): Promise<NewJob[]> {
    const contentId = await this.queue.storeContent(sql, {
      kind: 'webhook',
      eventId: event.id,
      body: webhookBody(event),
    });
    return hookIds.map((hookId) => ({
      id: uuidv7(),
      idempotencyKey: `webhook:${event.id}:${hookId}`,
      eventId: event.id,
      contentId,
      kind: 'webhook',
      lane: hookLane(hookId),
      repositoryId: event.repositoryId,
      hookId,
      own: { event: event.type },
    }));
  }
}

async function findHooks(
  sql: Sql,
  repositoryId: number | null,
  only: number | null,
  after: number,
): Promise<HookChoice[]> {
  const rows = await sql.query<{ id: string; active: boolean; events: string[] }>(
    `SELECT id, active, events FROM hook
     WHERE repository_id = $1 AND id > $2 AND ($3::bigint IS NULL OR id = $3::bigint)
     ORDER BY id LIMIT $4`,
    [repositoryId, after, only, PAGE_SIZE],
  );
  return rows.map((row) => ({ ...row, id: Number(row.id) }));
}
