import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';

import { inTransaction, type Pool } from '@ghost/db';
import { createPostgresQueue, hookLane, type Queue, sqlOf } from '@ghost/queue';

import type { ApiClient } from './api-client.js';
import type { Stops } from './stops.js';
import { startReceiver } from './webhook-receiver.js';

interface Receipt {
  at: number;
  hash: string;
  marked: boolean;
}

/** A receiver that takes everything and keeps, of each delivery, what came. */
export class Receipts {
  readonly url: string;
  readonly #of: Map<string, Receipt[]>;

  private constructor(url: string, of: Map<string, Receipt[]>) {
    this.url = url;
    this.#of = of;
  }

  static async start(stops: Stops): Promise<Receipts> {
    const of = new Map<string, Receipt[]>();
    const receiver = await startReceiver(({ headers, body }) => {
      const id = String(headers['x-ghost-delivery']);
      const receipt = {
        at: performance.now(),
        hash: createHash('sha256').update(body).digest('hex'),
        marked: headers['x-ghost-redelivery'] === 'true',
      };
      of.set(id, [...(of.get(id) ?? []), receipt]);
      return 200;
    });
    stops.add(() => receiver.stop());
    return new Receipts(receiver.url, of);
  }

  count(id: string): number {
    return this.#of.get(id)?.length ?? 0;
  }

  /** When it came first. */
  at(id: string): number | undefined {
    return this.#of.get(id)?.[0]?.at;
  }

  hashes(id: string): string[] {
    return (this.#of.get(id) ?? []).map(({ hash }) => hash);
  }

  /** Whether each of its requests said that it is a redelivery. */
  marked(id: string): boolean {
    return (this.#of.get(id) ?? []).every(({ marked }) => marked);
  }
}

interface SeenReplay {
  state: string;
  ended_at: string | null;
  progress: Record<
    'total' | 'remaining' | 'queued' | 'pending' | 'delivered' | 'failed' | 'cancelled' | 'skipped',
    number
  >;
}

/** Looks at a replay again and again, and notes what cannot be true. */
export class ReplayWatch {
  last: SeenReplay | undefined;
  looks = 0;
  mostPending = 0;
  readonly faults: string[] = [];
  #stopped = false;
  readonly #looking: Promise<void>;

  constructor(client: ApiClient, path: string, everyMs: number) {
    this.#looking = this.#look(client, path, everyMs);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#looking;
  }

  async #look(client: ApiClient, path: string, everyMs: number): Promise<void> {
    while (!this.#stopped) {
      // No answer: the API is dead, and started again.
      const answer = await client.send('GET', path).catch(() => undefined);
      if (answer?.status === 200) this.#judge(answer.body as SeenReplay);
      await delay(everyMs);
    }
  }

  #judge(now: SeenReplay): void {
    const before = this.last?.progress;
    const { total, remaining, pending, delivered, failed, cancelled, skipped, queued } =
      now.progress;
    this.last = now;
    this.looks += 1;
    this.mostPending = Math.max(this.mostPending, pending);
    const wrong = (what: string) => this.faults.push(`${what}: ${JSON.stringify(now.progress)}`);
    if (remaining + pending + delivered + failed + cancelled + skipped !== total) wrong('sum');
    if (queued !== pending + delivered + failed + cancelled) wrong('queued');
    if (Math.min(remaining, pending) < 0) wrong('negative');
    if (before === undefined) return;
    if (total !== before.total) wrong('total');
    if (remaining > before.remaining) wrong('remaining grew');
    for (const count of ['queued', 'delivered', 'failed', 'cancelled', 'skipped'] as const) {
      if (now.progress[count] < before[count]) wrong(`${count} went back`);
    }
  }
}

/** New events of a hook, enqueued one by one at their time. */
export class LiveEvents {
  readonly #pool: Pool;
  readonly #queue: Queue;
  readonly #hookId: number;
  /** When each was committed; of those while a process was down, nothing is measured. */
  readonly #sent = new Map<string, { at: number; counts: boolean }>();
  #paused = false;
  #stopped = false;
  readonly #sending: Promise<void>;

  constructor(pool: Pool, hookId: number, everyMs: number) {
    this.#pool = pool;
    this.#queue = createPostgresQueue({ pool });
    this.#hookId = hookId;
    this.#sending = this.#send(everyMs);
  }

  /** What was just sent may be in the hands of who is killed. */
  pause(): void {
    this.#paused = true;
    for (const one of [...this.#sent.values()].slice(-30)) one.counts = false;
  }

  goOn(): void {
    this.#paused = false;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#sending;
  }

  /** How many did not arrive yet. */
  waiting(receipts: Receipts): number {
    return [...this.#sent.keys()].filter((id) => receipts.count(id) === 0).length;
  }

  tookMs(receipts: Receipts): number[] {
    return [...this.#sent].flatMap(([id, { at, counts }]) =>
      counts ? [(receipts.at(id) ?? Number.POSITIVE_INFINITY) - at] : [],
    );
  }

  async #send(everyMs: number): Promise<void> {
    while (!this.#stopped) {
      await delay(everyMs);
      const id = randomUUID();
      const counts = !this.#paused;
      await this.#enqueue(id);
      this.#sent.set(id, { at: performance.now(), counts: counts && !this.#paused });
    }
  }

  async #enqueue(id: string): Promise<void> {
    await inTransaction(this.#pool, async (tx) => {
      const sql = sqlOf(tx);
      const eventId = randomUUID();
      await sql.query(
        `INSERT INTO outbox_event (id, type, version, payload, processed_at) VALUES ($1, 'thread.opened', 1, '{}', now())`,
        [eventId],
      );
      const contentId = await this.#queue.storeContent(sql, {
        kind: 'webhook',
        eventId,
        body: '{}',
      });
      await this.#queue.enqueue(sql, [
        {
          ...{ id, eventId, contentId, repositoryId: null, kind: 'webhook' as const },
          idempotencyKey: `webhook:${eventId}:${this.#hookId}`,
          lane: hookLane(this.#hookId),
          hookId: this.#hookId,
          own: { event: 'thread.opened' },
        },
      ]);
    });
  }
}
