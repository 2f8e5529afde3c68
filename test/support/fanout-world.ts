import { randomBytes } from 'node:crypto';
import type { HookFilter, NewEvent } from '@ghost/contract';
import {
  createDatabase,
  type Database,
  type HookChain,
  type Pool,
  publishEvent,
  type Transaction,
} from '@ghost/db';
import { createPostgresQueue, type Queue } from '@ghost/queue';
import { parseKeyRing } from '@ghost/vault';
import { pino } from 'pino';

import { NotifierService } from '../../apps/api/src/notifier/notifier.service.js';
import type { FanoutConsumer } from '../../apps/api/src/outbox/fanout-consumer.js';
import { OutboxService } from '../../apps/api/src/outbox/outbox.service.js';
import { UnsubscribeTokens } from '../../apps/api/src/unsubscribe/unsubscribe-tokens.js';
import { HookChains } from '../../apps/api/src/webhook-fanout/hook-chains.js';
import { WebhookFanoutService } from '../../apps/api/src/webhook-fanout/webhook-fanout.service.js';
import { commentPayload, type Place } from './comment-payload.js';
import { createTestDatabase, openPool } from './test-database.js';
import { waitUntil } from './wait-until.js';

const POOL_SIZE = 8;
const HEARTBEAT_MS = 60_000;
/** Failures are tried again soon: back-off itself is tested as a rule. */
const RETRY_BASE_MS = 20;

export interface OutboxOptions {
  readonly notifier?: FanoutConsumer;
  readonly webhooks?: FanoutConsumer;
  readonly retryBaseMs?: number;
  readonly deliveryWakeUrl?: string;
  /** Hears of each drain that did something; by itself nothing is pruned. */
  readonly retention?: { worked(): void };
  /** Where its pool and listener connect, for a proxy in between. */
  readonly databaseUrl?: string;
}

export interface RunningOutbox {
  readonly service: OutboxService;
  /** Its own, as a process has one. */
  readonly pool: Pool;
  /** What it logged: each line parsed. */
  readonly lines: readonly Record<string, unknown>[];
  stop(): Promise<void>;
}

export interface Progress {
  readonly consumer: string;
  readonly attempts: number;
  readonly cursor: string | null;
  readonly lastError: string | null;
  readonly leased: boolean;
  readonly done: boolean;
  readonly setAside: boolean;
}

/** A database with the services of fan-out over it, none of them started, and ways to fill it. */
export class FanoutWorld {
  readonly url: string;
  readonly pool: Pool;
  readonly db: Database;
  readonly queue: Queue;
  readonly settings = {
    outboxRetryBaseMs: RETRY_BASE_MS,
    deliveryWakeUrl: null,
    mailFrom: { name: 'Ghost', address: 'noreply@ghost.example' },
    mentionMailsPerHour: 3,
    publicUrl: 'https://ghost.example',
    keyRing: testKeyRing(),
    heldMost: 10_000,
  };
  readonly tokens = new UnsubscribeTokens(this.settings);
  readonly chains = new HookChains(this.settings);
  readonly notifier: NotifierService;
  readonly webhooks: WebhookFanoutService;
  readonly #stops: (() => Promise<unknown>)[] = [];
  #people = 0;

  private constructor(url: string, drop: () => Promise<void>) {
    this.url = url;
    this.#stops.push(drop);
    this.pool = this.#openPool(url);
    this.db = createDatabase(this.pool);
    this.queue = createPostgresQueue({ pool: this.pool });
    this.notifier = new NotifierService(this.queue, this.settings, this.tokens);
    this.webhooks = new WebhookFanoutService(this.queue, this.chains, this.settings);
  }

  static async create(): Promise<FanoutWorld> {
    const database = await createTestDatabase();
    return new FanoutWorld(database.url, () => database.drop());
  }

  /** Starts an outbox as one API process has it; it drains at once. */
  async startOutbox(options: OutboxOptions = {}): Promise<RunningOutbox> {
    const url = options.databaseUrl ?? this.url;
    const pool = this.#openPool(url);
    const lines: Record<string, unknown>[] = [];
    const write = (line: string) => lines.push(JSON.parse(line) as Record<string, unknown>);
    const settings = {
      outboxRetryBaseMs: options.retryBaseMs ?? RETRY_BASE_MS,
      deliveryWakeUrl: options.deliveryWakeUrl ?? null,
    };
    const service = new OutboxService(
      pool,
      createPostgresQueue({ pool }),
      (options.notifier ?? this.notifier) as NotifierService,
      (options.webhooks ?? this.webhooks) as WebhookFanoutService,
      { listenUrl: url, heartbeatMs: HEARTBEAT_MS },
      settings,
      pino({ level: 'debug' }, { write }),
      options.retention ?? { worked: () => undefined },
      { wake: () => undefined },
      { worked: () => undefined },
    );
    let stopping: Promise<void> | undefined;
    const stop = () => (stopping ??= service.onApplicationShutdown());
    this.#stops.push(stop);
    await service.onApplicationBootstrap();
    return { service, pool, lines, stop };
  }

  async account(
    options: { name?: string; email?: string; verified?: boolean } = {},
  ): Promise<number> {
    this.#people += 1;
    const login = `person-${this.#people}`;
    return this.#insert(
      `WITH made AS (INSERT INTO account (login, name) VALUES ($1, $2) RETURNING id)
       INSERT INTO email_address (account_id, address, is_primary, verified_at)
       SELECT id, $3, true, CASE WHEN $4 THEN now() END FROM made RETURNING account_id AS id`,
      [
        login,
        options.name ?? `Person ${this.#people}`,
        options.email ?? `${login}@people.example`,
        options.verified ?? true,
      ],
    );
  }

  /** A repository with an owner and one thread with a comment, both the owner's; nobody follows it yet. */
  async place(options: { private?: boolean } = {}): Promise<Place> {
    const ownerId = await this.account();
    const repositoryId = await this.#insert(
      'INSERT INTO repository (owner_id, name, private) VALUES ($1, $2, $3) RETURNING id',
      [ownerId, 'place', options.private ?? false],
    );
    const threadId = await this.#insert(
      `INSERT INTO thread (repository_id, number, author_id, title, body) VALUES ($1, 1, $2, $3, '') RETURNING id`,
      [repositoryId, ownerId, 'A thread'],
    );
    const commentId = await this.#insert(
      `INSERT INTO comment (thread_id, number, author_id, body) VALUES ($1, 1, $2, 'Hello.') RETURNING id`,
      [threadId, ownerId],
    );
    await this.pool.query('INSERT INTO comment_counter (thread_id, last) VALUES ($1, 1)', [
      threadId,
    ]);
    return { ownerId, repositoryId, threadId, commentId };
  }

  async watch(place: Place, accountId: number, ignored = false): Promise<void> {
    await this.pool.query(
      'INSERT INTO watch (repository_id, account_id, ignored) VALUES ($1, $2, $3)',
      [place.repositoryId, accountId, ignored],
    );
  }

  /** Makes `count` people who watch, of `domains` mail domains; their ids follow each other. */
  async watchers(place: Place, count: number, domains = 1): Promise<void> {
    await this.pool.query(
      `WITH made AS (
         INSERT INTO account (login, name)
         SELECT 'watcher-' || $1 || '-' || n, 'Watcher ' || n FROM generate_series(1, $2::int) n
         RETURNING id, split_part(login, '-', 3)::int AS n
       ), address AS (
         INSERT INTO email_address (account_id, address, is_primary, verified_at)
         SELECT id, 'watcher' || n || '@mail' || n % $3::int || '.example', true, now() FROM made
       )
       INSERT INTO watch (repository_id, account_id) SELECT $1::bigint, id FROM made`,
      [place.repositoryId, count, domains],
    );
  }

  async member(place: Place, accountId: number): Promise<void> {
    await this.pool.query(
      `INSERT INTO member (repository_id, account_id, permission) VALUES ($1, $2, 'read')`,
      [place.repositoryId, accountId],
    );
  }

  async takesPart(
    place: Place,
    accountId: number,
    reason: 'author' | 'participant' | 'mention' | 'manual' = 'participant',
    muted = false,
  ): Promise<void> {
    await this.pool.query(
      'INSERT INTO thread_subscription (thread_id, account_id, reason, muted) VALUES ($1, $2, $3, $4)',
      [place.threadId, accountId, reason, muted],
    );
  }

  async hook(
    place: Place,
    options: { events?: string[]; active?: boolean; filters?: HookFilter[] } = {},
  ): Promise<number> {
    return this.#insert(
      'INSERT INTO hook (repository_id, url, events, active, filters) VALUES ($1, $2, $3, $4, $5) RETURNING id',
      [
        place.repositoryId,
        'https://receiver.example/hook',
        options.events ?? ['*'],
        options.active ?? true,
        JSON.stringify(options.filters ?? []),
      ],
    );
  }

  /** Publishes in a transaction of its own; returns the event's id. */
  async publish(event: NewEvent, cause: HookChain | null = null): Promise<string> {
    return this.db.transaction((tx) => publishEvent(tx, event, cause));
  }

  async publishComment(place: Place, actorId = place.ownerId, body = 'Hello.'): Promise<string> {
    return this.publish(this.comment(place, actorId, body));
  }

  publishCommentIn(tx: Transaction, place: Place): Promise<string> {
    return publishEvent(tx, this.comment(place, place.ownerId, 'Hello.'));
  }

  comment(place: Place, actorId: number, body: string): NewEvent {
    return {
      type: 'comment.created',
      repositoryId: place.repositoryId,
      payload: commentPayload(place, actorId, body),
    };
  }

  async progressOf(eventId: string): Promise<Record<string, Progress>> {
    const { rows } = await this.pool.query<Progress>(
      `SELECT consumer, attempts, cursor, last_error AS "lastError", lease_until IS NOT NULL AS leased,
         done_at IS NOT NULL AS done, set_aside_at IS NOT NULL AS "setAside"
       FROM outbox_progress WHERE event_id = $1`,
      [eventId],
    );
    return Object.fromEntries(rows.map((row) => [row.consumer, row]));
  }

  /** The idempotency keys of an event's jobs, sorted. */
  async keysOf(eventId: string): Promise<string[]> {
    const { rows } = await this.pool.query<{ key: string }>(
      'SELECT idempotency_key AS key FROM delivery_job WHERE event_id = $1 ORDER BY 1',
      [eventId],
    );
    return rows.map((row) => row.key);
  }

  async countJobs(eventId: string): Promise<number> {
    const { rows } = await this.pool.query<{ jobs: number }>(
      'SELECT count(*)::int AS jobs FROM delivery_job WHERE event_id = $1',
      [eventId],
    );
    return rows[0]?.jobs ?? 0;
  }

  /** Why targets of an event got nothing, by target. */
  async skipsOf(eventId: string): Promise<Record<string, string>> {
    const { rows } = await this.pool.query<{ target: string; reason: string }>(
      `SELECT target_kind || ':' || target_id AS target, reason FROM fanout_skip WHERE event_id = $1`,
      [eventId],
    );
    return Object.fromEntries(rows.map((row) => [row.target, row.reason]));
  }

  async untilProcessed(...eventIds: string[]): Promise<void> {
    await waitUntil(
      async () => {
        const { rows } = await this.pool.query(
          'SELECT FROM outbox_event WHERE id = ANY ($1::uuid[]) AND processed_at IS NOT NULL',
          [eventIds],
        );
        return rows.length === eventIds.length;
      },
      { what: `the end of the fan-out of ${eventIds.join(', ')}` },
    );
  }

  async stop(): Promise<void> {
    for (const stop of this.#stops.reverse()) await stop();
  }

  #openPool(url: string): Pool {
    const pool = openPool(url, POOL_SIZE);
    this.#stops.push(() => pool.end());
    return pool;
  }

  async #insert(text: string, values: unknown[]): Promise<number> {
    const { rows } = await this.pool.query<{ id: string }>(text, values);
    return Number(rows[0]?.id);
  }
}

export function testKeyRing() {
  const parsed = parseKeyRing(`test:${randomBytes(32).toString('base64')}`);
  if (!parsed.ok) throw new Error(parsed.faults.join('; '));
  return parsed.ring;
}

export { commentPayload, type Place };
