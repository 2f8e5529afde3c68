import { inTransaction, type Pool } from '@ghost/db';
import {
  cancelReplay,
  previewReplay,
  type Replay,
  type ReplayPreview,
  type ReplaySet,
  type ReplayStep,
  type ReplayWish,
  readReplay,
  startReplay,
  stepReplay,
} from '@ghost/operations';
import {
  type ClaimedJob,
  createPostgresQueue,
  type Queue,
  type Sql,
  sqlOf,
  sqlOfPool,
} from '@ghost/queue';
import { expect } from 'vitest';

import { createDeliverySeed, type DeliverySeed } from './delivery-seed.js';
import { addEnded, type EndedDeliveries } from './ended-deliveries.js';
import { CAPACITY, type DEAD, DONE, type FAILED, settleAll } from './job-scene.js';
import { createTestDatabase, type TestDatabase } from './test-database.js';

export const RETENTION_DAYS = 30;

export const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000);

export function replayWish(
  which: ReplaySet = 'failed',
  more: Partial<ReplayWish> = {},
): ReplayWish {
  return { which, since: ago(60), ...more };
}

/** Replays of one of two hooks, on a database of the test's own. */
export class ReplayScene {
  readonly pool: Pool;
  readonly sql: Sql;
  readonly queue: Queue;
  readonly seed: DeliverySeed;
  readonly hookId: number;
  readonly otherId: number;
  readonly #database: TestDatabase;

  private constructor(database: TestDatabase, seed: DeliverySeed, hookId: number, otherId: number) {
    this.#database = database;
    this.seed = seed;
    this.hookId = hookId;
    this.otherId = otherId;
    this.pool = database.pool(4);
    this.sql = sqlOfPool(this.pool);
    this.queue = createPostgresQueue({ pool: this.pool });
  }

  static async create(): Promise<ReplayScene> {
    const database = await createTestDatabase();
    const seed = await createDeliverySeed(database.url);
    const hookId = await seed.hook('https://receiver.example/');
    const otherId = await seed.hook('https://other.example/');
    return new ReplayScene(database, seed, hookId, otherId);
  }

  async stop(): Promise<void> {
    await this.seed.close();
    await this.#database.drop();
  }

  /** {@link addEnded}, of the hook that is replayed unless told otherwise. */
  addEnded(ended: EndedDeliveries, hookId = this.hookId): Promise<string[]> {
    return addEnded(this.pool, hookId, ended);
  }

  preview(asked = replayWish()): Promise<ReplayPreview> {
    return previewReplay(this.sql, this.hookId, asked, RETENTION_DAYS);
  }

  start(
    asked: ReplayWish & { expectedTotal?: number } = replayWish(),
    active = true,
  ): Promise<number> {
    const wanted = { ...asked, retentionDays: RETENTION_DAYS };
    return inTransaction(this.pool, (tx) => startReplay(sqlOf(tx), this.#at(active), wanted));
  }

  read(id: number): Promise<Replay> {
    return readReplay(this.sql, id);
  }

  async cancel(id: number): Promise<void> {
    await inTransaction(this.pool, (tx) => cancelReplay(sqlOf(tx), this.#at(true), id));
  }

  /** The next step, whenever it would be due. */
  async step(id: number, woken = false): Promise<ReplayStep | null> {
    await this.pool.query(
      `UPDATE hook_replay SET next_at = now() WHERE id = $1 AND next_at < 'infinity'`,
      [id],
    );
    return stepReplay(this.sql, id, woken);
  }

  async settleDue(
    outcome: typeof DONE | typeof DEAD | typeof FAILED,
    jobs = 100,
  ): Promise<ClaimedJob[]> {
    const claim = await this.queue.claim({ ...CAPACITY, kind: 'webhook', jobs });
    await settleAll(this.queue, claim, outcome);
    // A replay is of what ended before the millisecond in which it is asked for.
    await this.pool.query('SELECT pg_sleep(0.002)');
    return claim.jobs;
  }

  /** Steps, and all that is claimed delivered, until it is over. */
  async runToEnd(id: number): Promise<Replay> {
    for (let round = 0; round < 200; round += 1) {
      await this.step(id);
      while ((await this.settleDue(DONE)).length > 0);
      const replay = await this.read(id);
      expectSum(replay);
      if (replay.endedAt !== null) return replay;
    }
    throw new Error('The replay came to no end');
  }

  /** How many of the jobs have which status. */
  async statuses(ids: readonly string[]): Promise<Record<string, number>> {
    const { rows } = await this.pool.query<{ status: string; jobs: number }>(
      'SELECT status, count(*)::int AS jobs FROM delivery_job WHERE id = ANY ($1) GROUP BY 1',
      [ids],
    );
    return Object.fromEntries(rows.map(({ status, jobs }) => [status, jobs]));
  }

  #at(active: boolean) {
    return {
      hook: { id: this.hookId, active },
      repository: { id: 1, fullName: 'ghost/core' },
      actor: null,
    };
  }
}

function expectSum({ progress }: Replay): void {
  const { total, remaining, pending, delivered, failed, cancelled, skipped } = progress;
  expect(remaining).toBeGreaterThanOrEqual(0);
  expect(remaining + pending + delivered + failed + cancelled + skipped).toBe(total);
}
