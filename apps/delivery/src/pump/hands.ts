import type { JobKind } from '@ghost/contract';

import { type Room, roomBeside } from '../lanes/room.js';
import type { InHand } from './in-hand.js';

/** Jobs a claim: more gains little and makes the statement long (measured up to 500). */
const MOST_JOBS = 500;
/** What a job is taken to need before any was claimed: a comment in a thread, of 65,536 emoji each, as text and as request. */
const UNKNOWN_BYTES = 1024 * 1024;

export interface HandsOptions {
  kind: JobKind;
  /** How many jobs may be sent at once now. */
  capacity: () => number;
  /** That their contents may take in memory, before more is claimed. */
  mostBytes: number;
  inHand: InHand;
}

/**
 * How much of one kind may be claimed: as many jobs as hands are free, and as the bytes that are left have room for. What
 * a job takes is known once it is claimed, so the last claims tell. Jobs like those go over the bytes by one job at most;
 * where they are suddenly larger, by what one claim brings. With an empty hand one job is asked for, however large.
 */
export class Hands {
  readonly #options: HandsOptions;
  #meanBytes: number | undefined;

  constructor(options: HandsOptions) {
    this.#options = options;
  }

  /** Hands that are free; none while the bytes are used up. */
  get free(): number {
    const { kind, capacity, inHand } = this.#options;
    return this.#freeBytes <= 0 ? 0 : Math.max(0, capacity() - inHand.sending(kind));
  }

  room(): Room {
    const { kind, capacity, inHand, mostBytes: most } = this.#options;
    const bytes = { most, mean: this.#meanBytes ?? UNKNOWN_BYTES };
    const room = roomBeside(inHand.beingSent(), kind, capacity(), bytes);
    return { ...room, jobs: Math.min(room.jobs, MOST_JOBS) };
  }

  /** Tells from now on whether half of what slow lanes do not hold is free: that comes back seldom. */
  gathered(): () => boolean {
    const { kind, capacity, inHand, mostBytes } = this.#options;
    let [slow, slowBytes] = [0, 0];
    for (const { claimed, bytes } of inHand.beingSent()) {
      if (claimed.kind !== kind || !claimed.slow) continue;
      slow += 1;
      slowBytes += bytes;
    }
    return () =>
      this.free >= Math.min(capacity() - slow, MOST_JOBS) / 2 &&
      this.#freeBytes >= (mostBytes - slowBytes) / 2;
  }

  /** Learns what a job takes from a claim that brought some: more at once, less by and by. */
  taking(jobs: number, take: () => void): void {
    const { kind, inHand } = this.#options;
    const before = inHand.bytes(kind);
    take();
    const mean = Math.max(1, (inHand.bytes(kind) - before) / jobs);
    this.#meanBytes = Math.max(mean, ((this.#meanBytes ?? mean) + mean) / 2);
  }

  get #freeBytes(): number {
    const { kind, inHand, mostBytes } = this.#options;
    return mostBytes - inHand.bytes(kind);
  }
}
