import { isDatabaseOutage } from '@ghost/db';
import { LanesLockedError, type Lease, type Queue } from '@ghost/queue';
import type { Logger } from 'pino';

import type { Held, InHand } from './in-hand.js';

/** After an extension that the database did not answer. */
const TRY_AGAIN_MS = 1_000;

export interface LeaseKeeperOptions {
  queue: Pick<Queue, 'extend'>;
  inHand: InHand;
  leaseMs: number;
  /** Monotonic clock in milliseconds: the one that the claim counted `leaseEndsAt` on. */
  monotonic: () => number;
  log: Logger;
}

/**
 * Keeps what is in hand out of other workers' reach: one statement extends the leases that have lost
 * a third, of which a slow claim may bring some. What was lost, or ran out meanwhile, is broken off
 * at once, as another worker may have it already. Has no timer while nothing is in hand.
 */
export class LeaseKeeper {
  readonly #options: LeaseKeeperOptions;
  #timer: NodeJS.Timeout | undefined;
  /** When the timer looks, on the monotonic clock. */
  #looksAt = Number.POSITIVE_INFINITY;
  #extending = false;
  #retrySoon = false;
  #stopped = false;

  constructor(options: LeaseKeeperOptions) {
    this.#options = options;
    options.inHand.onTake((held) => this.#lookBy(this.#nextLookAt(held, options.monotonic())));
    options.inHand.onChange(() => {
      if (options.inHand.size === 0) this.#rest();
    });
  }

  stop(): void {
    this.#stopped = true;
    this.#rest();
  }

  #rest(): void {
    clearTimeout(this.#timer);
    this.#looksAt = Number.POSITIVE_INFINITY;
  }

  #lookBy(at: number): void {
    if (this.#stopped || at >= this.#looksAt) return;
    clearTimeout(this.#timer);
    this.#looksAt = at;
    const waitMs = Math.max(1, at - this.#options.monotonic());
    this.#timer = setTimeout(() => this.#tick(), waitMs);
  }

  #tick(): void {
    const { inHand, monotonic } = this.#options;
    this.#rest();
    const now = monotonic();
    const held = inHand.all();
    const ranOut = held.filter((one) => !one.settling && one.leaseEndsAt <= now);
    for (const one of ranOut) inHand.stop(one, 'lease_lost');
    const due = held.filter((one) => one.leaseEndsAt > now && this.#dueAt(one) <= now);
    if (due.length > 0 && !this.#extending) void this.#extend(due);
    this.#next();
  }

  #next(): void {
    const { inHand, leaseMs, monotonic } = this.#options;
    const now = monotonic();
    const looks = inHand.all().map((one) => this.#nextLookAt(one, now));
    if (looks.length > 0) this.#lookBy(Math.min(now + leaseMs / 3, ...looks));
  }

  /** When it has lost a third of its lease. */
  #dueAt({ leaseEndsAt }: Held): number {
    return leaseEndsAt - (this.#options.leaseMs * 2) / 3;
  }

  /** When a lease is to be extended, or ends where that is asked for already. */
  #nextLookAt(held: Held, now: number): number {
    if (held.stop.aborted) return Number.POSITIVE_INFINITY;
    // What only waits to be written is not broken off at the end of its lease.
    const endsAt = held.settling ? Number.POSITIVE_INFINITY : held.leaseEndsAt;
    if (this.#extending || held.leaseEndsAt <= now) return endsAt;
    const soonest = this.#retrySoon ? now + TRY_AGAIN_MS : now;
    return Math.min(endsAt, Math.max(this.#dueAt(held), soonest));
  }

  async #extend(due: readonly Held[]): Promise<void> {
    this.#extending = true;
    try {
      this.#retrySoon = false;
      await this.#ask(due);
    } catch (error) {
      this.#retrySoon = true;
      const level = isDatabaseOutage(error) || error instanceof LanesLockedError ? 'warn' : 'error';
      this.#options.log[level]({
        event: 'delivery.extend_failed',
        leases: due.length,
        err: error,
      });
    } finally {
      this.#extending = false;
      this.#next();
    }
  }

  async #ask(due: readonly Held[]): Promise<void> {
    const { queue, inHand, leaseMs, monotonic } = this.#options;
    const askedAt = monotonic();
    try {
      const current = await queue.extend(due.map((one): Lease => one.claimed));
      for (const one of due) {
        one.leaseEndsAt = current.has(one.claimed) ? askedAt + leaseMs : askedAt;
        // One that is being settled may have been settled just now: its fence tells.
        if (one.leaseEndsAt === askedAt) inHand.stop(one, 'lease_lost');
      }
    } catch (error) {
      if (!(error instanceof LanesLockedError)) throw error;
      // Nobody else claims there while the lane is held: the others matter.
      for (const part of besideLocked(due, error)) await this.#askBesideLocked(part);
      throw error;
    }
  }

  /** One part behind the other: they may be of one lane, which the other would wait for. What ran out meanwhile is lost. */
  async #askBesideLocked(part: readonly Held[]): Promise<void> {
    const now = this.#options.monotonic();
    const left = part.filter(({ leaseEndsAt }) => leaseEndsAt > now);
    if (left.length === 0) return;
    try {
      await this.#ask(left);
    } catch (error) {
      if (!(error instanceof LanesLockedError)) throw error;
    }
  }
}

/** What is of other lanes; where it was a job that is held, and not its lane, each half. */
function besideLocked(due: readonly Held[], { lanes }: LanesLockedError): (readonly Held[])[] {
  const free = due.filter(({ claimed }) => !lanes.has(claimed.lane));
  if (free.length < due.length) return free.length > 0 ? [free] : [];
  const middle = Math.ceil(due.length / 2);
  return due.length > 1 ? [due.slice(0, middle), due.slice(middle)] : [];
}
