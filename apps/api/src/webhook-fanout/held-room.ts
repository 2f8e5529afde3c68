import type { Sql } from '@ghost/queue';

/** A count is good for so long; in between what this process adds is counted along. */
const GOOD_FOR_MS = 5_000;
/** Counts that are remembered: some 100 KB. */
const REMEMBERED = 1_000;

export interface HeldHook {
  hookId: number;
  /** Since when: a new hold is counted anew. */
  heldAt: Date;
}

interface Count {
  heldAt: number;
  countedAt: number;
  /** Deliveries that it may still keep. */
  room: number;
}

/**
 * How many more deliveries held hooks may keep. To count 10,000 took 2 to 4 ms on a busy machine, and 10 before the table was
 * vacuumed (measured), so each hook is counted once in five seconds at most; meanwhile other processes may add theirs, and the
 * bound is no exact one.
 */
export class HeldRoom {
  readonly #most: number;
  readonly #monotonic: () => number;
  readonly #counts = new Map<number, Count>();
  /** Under way: of two that count at once neither would see what the other one takes. */
  readonly #counting = new Map<number, Promise<void>>();

  /** @param monotonic - clock in milliseconds */
  constructor(most: number, monotonic = (): number => performance.now()) {
    this.#most = most;
    this.#monotonic = monotonic;
  }

  /** Takes room for one delivery to each hook. @returns the hooks that have none */
  async take(sql: Sql, held: readonly HeldHook[]): Promise<ReadonlySet<number>> {
    const old = held.filter((hook) => !this.#isGood(hook) && !this.#counting.has(hook.hookId));
    if (old.length > 0) {
      const counting = this.#count(sql, old).finally(() => {
        for (const { hookId } of old) this.#counting.delete(hookId);
      });
      for (const { hookId } of old) this.#counting.set(hookId, counting);
    }
    await Promise.all(held.flatMap(({ hookId }) => this.#counting.get(hookId) ?? []));
    const full = new Set<number>();
    for (const { hookId } of held) {
      const count = this.#counts.get(hookId);
      if (count === undefined || count.room > 0) {
        if (count !== undefined) count.room -= 1;
      } else full.add(hookId);
    }
    this.#forget();
    return full;
  }

  #isGood({ hookId, heldAt }: HeldHook): boolean {
    const count = this.#counts.get(hookId);
    if (count === undefined || count.heldAt !== heldAt.getTime()) return false;
    return this.#monotonic() - count.countedAt < GOOD_FOR_MS;
  }

  async #count(sql: Sql, held: readonly HeldHook[]): Promise<void> {
    const ids = held.map(({ hookId }) => hookId);
    const rows = await sql.query<{ id: string; jobs: string }>(COUNT, [ids, this.#most]);
    const jobs = new Map(rows.map((row) => [Number(row.id), Number(row.jobs)]));
    const countedAt = this.#monotonic();
    for (const { hookId, heldAt } of held) {
      const room = this.#most - (jobs.get(hookId) ?? 0);
      // Anew: the map's order is that of the counts.
      this.#counts.delete(hookId);
      this.#counts.set(hookId, { heldAt: heldAt.getTime(), countedAt, room });
    }
  }

  #forget(): void {
    for (const hookId of this.#counts.keys()) {
      if (this.#counts.size <= REMEMBERED) return;
      this.#counts.delete(hookId);
    }
  }
}

/** Of the index alone, and no further than there is room. */
const COUNT = `
  SELECT g.id, (
    SELECT count(*) FROM (
      SELECT FROM delivery_job j WHERE j.lane = 'hook:' || g.id AND j.status = 'pending' LIMIT $2
    ) kept
  ) AS jobs
  FROM unnest($1::bigint[]) AS g(id)`;
