import type { Transaction } from '@ghost/db';
import { parseUrl } from '@ghost/policy';
import { hookLane, type NewJob, type Queue, type Sql, sqlOf } from '@ghost/queue';
import type { Settings } from '@ghost/settings';
import { Inject, Injectable } from '@nestjs/common';
import { uuidv7 } from 'uuidv7';

import { QUEUE, SETTINGS } from '../database/tokens.js';
import {
  type FanoutConsumer,
  type FanoutEvent,
  type FanoutPage,
  NOTHING_TO_SEND,
} from '../outbox/fanout-consumer.js';
import { isCommentGone } from '../outbox/is-comment-gone.js';
import { type HookChoice, type HookSkip, hookScope, skipHook } from './choose-hook.js';
import { HeldRoom } from './held-room.js';
import { HookChains } from './hook-chains.js';
import { webhookBody } from './webhook-body.js';

/** Hooks a page; repositories have a handful, and the bound keeps memory constant for any. */
const PAGE_SIZE = 1000;

type FoundHook = HookChoice & { url: string; ownerId: number; heldAt: Date | null };
type HookRow = Omit<FoundHook, 'id' | 'ownerId'> & {
  id: string;
  owner_id: string;
  chain: string[] | null;
};

/** Turns an event into one webhook for each hook of its repository that asked for it. */
@Injectable()
export class WebhookFanoutService implements FanoutConsumer {
  readonly #heldRoom: HeldRoom;

  constructor(
    @Inject(QUEUE) private readonly queue: Queue,
    @Inject(HookChains) private readonly chains: HookChains,
    @Inject(SETTINGS) { heldMost }: Pick<Settings, 'heldMost'>,
  ) {
    this.#heldRoom = new HeldRoom(heldMost);
  }

  async page(tx: Transaction, event: FanoutEvent, cursor: string | null): Promise<FanoutPage> {
    const scope = hookScope(event);
    if (scope.scope === 'none') return NOTHING_TO_SEND;
    const sql = sqlOf(tx);
    const only = scope.scope === 'hook' ? scope.hookId : null;
    const { hooks, chain } = await findHooks(sql, event, only, Number(cursor ?? 0));
    const commentGone = hooks.length > 0 && (await isCommentGone(tx, event));
    const chosen = hooks.map((hook) => ({
      hook,
      skip: skipHook(hook, event, { commentGone, chain }),
    }));
    await this.skipFull(sql, chosen);
    const targets = chosen.filter(({ skip }) => skip === null).map(({ hook }) => hook);
    const skips = chosen.flatMap(({ hook, skip }) =>
      skip === null ? [] : [{ targetKind: 'hook' as const, targetId: hook.id, ...skip }],
    );
    const jobs = targets.length === 0 ? [] : await this.makeJobs(sql, event, chain, targets);
    const last = hooks.at(-1);
    const next = last === undefined || hooks.length < PAGE_SIZE ? null : String(last.id);
    return { jobs, skips, cursor: next };
  }

  /** A held hook keeps so much and no more. */
  private async skipFull(
    sql: Sql,
    chosen: { hook: FoundHook; skip: HookSkip | null }[],
  ): Promise<void> {
    const held = chosen.flatMap(({ hook: { id: hookId, heldAt }, skip }) =>
      skip === null && heldAt !== null ? [{ hookId, heldAt }] : [],
    );
    if (held.length === 0) return;
    const full = await this.#heldRoom.take(sql, held);
    for (const one of chosen) {
      if (full.has(one.hook.id)) one.skip = { reason: 'held_full', detail: null };
    }
  }

  private async makeJobs(
    sql: Sql,
    event: FanoutEvent,
    chain: readonly number[],
    hooks: FoundHook[],
  ): Promise<NewJob[]> {
    const now = new Date();
    const contentId = await this.queue.storeContent(sql, {
      kind: 'webhook',
      eventId: event.id,
      body: webhookBody(event),
    });
    return hooks.map(({ id: hookId, ownerId, url }) => ({
      id: uuidv7(),
      idempotencyKey: `webhook:${event.id}:${hookId}`,
      eventId: event.id,
      contentId,
      kind: 'webhook',
      lane: hookLane(hookId),
      repositoryId: event.repositoryId,
      hookId,
      ownerId,
      ...hostOf(url),
      own: { event: event.type, ...this.chainTo(hookId, event, chain, now) },
    }));
  }

  /** What the hook's endpoint sends along when it calls the API because of this. */
  private chainTo(
    hookId: number,
    { repositoryId }: FanoutEvent,
    chain: readonly number[],
    now: Date,
  ): { chain?: string } {
    if (repositoryId === null) return {};
    return { chain: this.chains.write({ repositoryId, hookIds: [...chain, hookId] }, now) };
  }
}

interface FoundHooks {
  hooks: FoundHook[];
  /** The hooks that led to the event. */
  chain: number[];
}

/** Whether a hook is held is asked of an index that has held lanes alone. */
const FIND_HOOKS = `
  SELECT h.id, h.active, h.events, h.filters, h.url, r.owner_id, l.held_at AS "heldAt",
    (SELECT e.hook_chain FROM outbox_event e WHERE e.id = $5) AS chain
  FROM hook h JOIN repository r ON r.id = h.repository_id
  LEFT JOIN LATERAL (
    SELECT min(d.held_at) AS held_at FROM delivery_lane d WHERE d.lane = 'hook:' || h.id AND d.held_reason IS NOT NULL
  ) l ON true
  WHERE h.repository_id = $1 AND h.id > $2 AND ($3::bigint IS NULL OR h.id = $3::bigint)
  ORDER BY h.id LIMIT $4`;

async function findHooks(
  sql: Sql,
  { id, repositoryId }: FanoutEvent,
  only: number | null,
  after: number,
): Promise<FoundHooks> {
  const values = [repositoryId, after, only, PAGE_SIZE, id];
  const rows = await sql.query<HookRow>(FIND_HOOKS, values);
  return {
    hooks: rows.map(({ owner_id: ownerId, chain: _chain, ...row }) => ({
      ...row,
      id: Number(row.id),
      ownerId: Number(ownerId),
    })),
    chain: (rows[0]?.chain ?? []).map(Number),
  };
}

/** Many hooks of one host share what it is sent at once. */
function hostOf(url: string): { host?: string } {
  const host = parseUrl(url)?.hostname;
  return host === undefined ? {} : { host };
}
