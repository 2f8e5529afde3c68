import { isDatabaseOutage } from '@ghost/db';
import type { Lease, Queue } from '@ghost/queue';
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
 * Keeps what is in hand out of other workers' reach: every third of a lease one statement extends
 * the leases that have lost a third. What was lost, or ran out meanwhile, is broken off at once, as
 * another worker may have it already. Has no timer while nothing is in hand.
 */
export class LeaseKeeper {
  readonly #options: LeaseKeeperOptions;
  #timer: NodeJS.Timeout | undefined;
  #extending = false;
  #retrySoon = false;

  constructor(options: LeaseKeeperOptions) {
    this.#options = options;
    options.inHand.onChange(() => this.#schedule());
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #schedule(): void {
    const { inHand, leaseMs } = this.#options;
    if (inHand.size === 0) {
      clearTimeout(this.#timer);
      this.#timer = undefined;
      return;
    }
    this.#timer ??= setTimeout(() => this.#tick(), leaseMs / 3);
  }

  #tick(): void {
    const { inHand, leaseMs, monotonic } = this.#options;
    this.#timer = undefined;
    const now = monotonic();
    const held = inHand.all();
    const ranOut = held.filter((one) => !one.settling && one.leaseEndsAt <= now);
    for (const one of ranOut) inHand.stop(one, 'lease_lost');
    const due = held.filter(
      (one) => one.leaseEndsAt > now && one.leaseEndsAt - now <= (leaseMs * 2) / 3,
    );
    if (due.length > 0 && !this.#extending) void this.#extend(due);
    this.#next(now);
  }

  /** The next look: a third of a lease, or earlier when a lease ends before. */
  #next(now: number): void {
    const { inHand, leaseMs } = this.#options;
    if (inHand.size === 0) return;
    const alive = inHand.all().filter((one) => !one.settling && !one.stop.signal.aborted);
    const firstEndMs = Math.min(...alive.map((one) => one.leaseEndsAt - now), leaseMs / 3);
    const waitMs = this.#retrySoon ? Math.min(firstEndMs, TRY_AGAIN_MS) : firstEndMs;
    this.#timer = setTimeout(() => this.#tick(), Math.max(1, waitMs));
  }

  async #extend(due: readonly Held[]): Promise<void> {
    const { queue, inHand, leaseMs, monotonic, log } = this.#options;
    this.#extending = true;
    const askedAt = monotonic();
    try {
      const current = await queue.extend(due.map((one): Lease => one.claimed));
      this.#retrySoon = false;
      for (const one of due) {
        if (current.has(one.claimed.id)) one.leaseEndsAt = askedAt + leaseMs;
        // One that is being settled may have been settled just now: its fence tells.
        else inHand.stop(one, 'lease_lost');
      }
    } catch (error) {
      this.#retrySoon = true;
      const level = isDatabaseOutage(error) ? 'warn' : 'error';
      log[level]({ event: 'delivery.extend_failed', leases: due.length, err: error });
    } finally {
      this.#extending = false;
    }
  }
}
