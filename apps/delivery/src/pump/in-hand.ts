import type { JobKind } from '@ghost/contract';
import type { ClaimedJob } from '@ghost/queue';

import { Abort } from '../abort.js';
import { bytesOf, dropContent, hold, type Weight, weighing } from './weight.js';

/** Why work in hand is broken off; the word that ends up in logs. */
export type StopReason = 'shutdown' | 'lease_lost';

/** A claimed job from its claim until its outcome is written. */
export interface Held {
  readonly claimed: ClaimedJob;
  readonly stop: Abort;
  readonly weight: Weight;
  /** Its outcome is known and waits to be written: there is nothing to abort any more, and its content is gone. */
  readonly settling: boolean;
  /** On the monotonic clock; moved by each extension. */
  leaseEndsAt: number;
}

/** Everything that this process has claimed and not yet settled. */
export class InHand {
  readonly #held = new Set<Held>();
  readonly #sending = new Map<JobKind, number>();
  readonly #bytes = new Map<JobKind, number>();
  readonly #listeners = new Set<() => void>();
  readonly #takeListeners = new Set<(held: Held) => void>();
  #ended: StopReason | undefined;

  get size(): number {
    return this.#held.size;
  }

  /** Jobs of a kind that take a hand: outcomes that wait to be written take none. */
  sending(kind: JobKind): number {
    return this.#sending.get(kind) ?? 0;
  }

  /** What the contents of these jobs take in memory: an outcome that waits to be written has none. */
  bytes(kind: JobKind): number {
    return this.#bytes.get(kind) ?? 0;
  }

  /** Jobs that take a hand. */
  *beingSent(): Generator<{ claimed: ClaimedJob; bytes: number }> {
    for (const { claimed, settling, weight } of this.#held) {
      if (!settling) yield { claimed, bytes: bytesOf(weight) };
    }
  }

  all(): Held[] {
    return [...this.#held];
  }

  /** @param weight - of one weighing for all jobs of a claim, as they share contents */
  take(claimed: ClaimedJob, weight = weighing()(claimed)): Held {
    const held: Held = {
      claimed,
      stop: new Abort(),
      weight,
      settling: false,
      leaseEndsAt: claimed.leaseEndsAt,
    };
    this.#held.add(held);
    if (this.#ended) this.stop(held, this.#ended);
    this.#count(held, 1);
    for (const listener of this.#takeListeners) listener(held);
    return held;
  }

  /** Its outcome is known: the hand is free for the next, and the content is not needed any more. */
  settling(held: Held): void {
    if (held.settling || !this.#held.has(held)) return;
    Object.assign(held, { settling: true });
    dropContent(held.claimed.job);
    this.#count(held, -1);
  }

  drop(held: Held): void {
    this.settling(held);
    if (this.#held.delete(held)) this.#tell();
  }

  /** Breaks off what is still being sent. */
  stop(held: Held, reason: StopReason): void {
    if (!held.settling) held.stop.abort(reason);
  }

  /** Breaks off everything, and whatever is taken from now on. */
  stopAll(reason: StopReason): void {
    this.#ended = reason;
    for (const held of this.#held) this.stop(held, reason);
  }

  /** Called with each job that is taken. */
  onTake(listener: (held: Held) => void): void {
    this.#takeListeners.add(listener);
  }

  /** Called at each change; returns how to stop that. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Waits until nothing is in hand, at most so long. Tells whether that was reached. */
  async empty(withinMs: number): Promise<boolean> {
    if (this.size === 0) return true;
    return new Promise((resolve) => {
      const finish = (reached: boolean) => {
        clearTimeout(timer);
        stopListening();
        resolve(reached);
      };
      const timer = setTimeout(() => finish(false), withinMs);
      const stopListening = this.onChange(() => {
        if (this.size === 0) finish(true);
      });
    });
  }

  #count({ claimed: { kind }, weight }: Held, by: 1 | -1): void {
    this.#sending.set(kind, this.sending(kind) + by);
    this.#bytes.set(kind, this.bytes(kind) + hold(weight, by));
    this.#tell();
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}
