import { CONSUMERS, EVENT_TYPES, EVENT_VERSION } from '@ghost/contract';
import type { Sql } from '@ghost/queue';

import type { ClaimedProgress } from './fanout-consumer.js';
import { retryDelay } from './retry-delay.js';
import { claimDueProgress, type ClaimedRows } from './sql/claim-due-progress.js';
import { closeEndedEvents } from './sql/close-ended-events.js';
import { failHeldProgress, type FailedProgress } from './sql/fail-held-progress.js';
import { giveBackHeldProgress } from './sql/give-back-held-progress.js';
import { nextDueProgress } from './sql/next-due-progress.js';
import { putOffDueProgress } from './sql/put-off-due-progress.js';

/** After this many starts without progress an event is set aside for that consumer, with its error. */
const MAX_ATTEMPTS = 5;
/** From the claim to the page's first lock, which then holds the row itself: a busy pool takes up to 5 s. */
const LEASE_MS = 10_000;
/** Others wait, visibly and uncharged, for a process that knows them. */
const KNOWN_EVENTS = EVENT_TYPES.map((type) => `${type}:${EVENT_VERSION}`);

/** How far each consumer is with each event, as this process claims, ends and gives back. */
export class OutboxProgress {
  readonly #sql: Sql;
  readonly #retryBaseMs: number;
  /** Starts that an outage broke off: their charge is taken back once the database answers. */
  #owed: ClaimedProgress[] = [];
  /** Events of which a consumer ended here: the next claim closes those that wait for none. */
  #ended: string[] = [];
  #swept = false;

  constructor(sql: Sql, retryBaseMs: number) {
    this.#sql = sql;
    this.#retryBaseMs = retryBaseMs;
  }

  /** What a process left behind: called before the first claim, and after an outage. */
  async tidy(): Promise<void> {
    await this.payBack(0);
    if (this.#swept) return;
    this.#swept = await closeEndedEvents(this.#sql);
  }

  /** Whether {@link tidy} has something to do to which nothing that is due will lead. */
  get isUntidy(): boolean {
    return !this.#swept || this.#owed.length > 0;
  }

  /** The next drain looks again for events that somebody ended and nobody closed. */
  sweepAgain(): void {
    this.#swept = false;
  }

  /**
   * Claims up to `rows` due rows, and closes the events that ended here.
   * @param idle whether nothing runs in this process: only then a suspect is claimed, alone
   */
  async claim(rows: number, idle: boolean): Promise<ClaimedRows> {
    // Taken whole: the other consumer of an event may end while the claim is under way.
    const ended = this.#ended;
    this.#ended = [];
    try {
      const found = await claimDueProgress(this.#sql, {
        rows,
        idle,
        leaseMs: LEASE_MS,
        maxAttempts: MAX_ATTEMPTS,
        consumers: CONSUMERS,
        known: KNOWN_EVENTS,
        ended,
      });
      if (found.leftOpen) this.sweepAgain();
      return found;
    } catch (error) {
      this.#ended.push(...ended);
      throw error;
    }
  }

  end(claimed: ClaimedProgress): void {
    this.#ended.push(claimed.event.id);
  }

  /** Closes what ended here where no claim follows. */
  async closeEnded(): Promise<void> {
    if (this.#ended.length > 0) await this.claim(0, false);
  }

  /** Charges a failure: the row waits for its back-off, or is set aside. */
  async fail(claimed: ClaimedProgress, error: string): Promise<FailedProgress> {
    return failHeldProgress(this.#sql, claimed, {
      error,
      delayMs: retryDelay(claimed.attempts, this.#retryBaseMs, Math.random()),
      maxAttempts: MAX_ATTEMPTS,
    });
  }

  /** Gives back rows that were not started, or could not go on, uncharged; due at once unless said otherwise. */
  async giveBack(rows: readonly ClaimedProgress[], delayMs = 0): Promise<void> {
    this.#owed.push(...(await giveBackHeldProgress(this.#sql, rows, delayMs)));
  }

  /** Gives back a row that somebody holds up, and whatever else is due of its repository for its consumer. */
  async putOff(claimed: ClaimedProgress, delayMs: number): Promise<void> {
    await this.giveBack([claimed], delayMs);
    const { repositoryId } = claimed.event;
    if (repositoryId !== null) {
      await putOffDueProgress(this.#sql, repositoryId, claimed.consumer, delayMs);
    }
  }

  /** Notes a start that an outage broke off. */
  owe(claimed: ClaimedProgress): void {
    this.#owed.push(claimed);
  }

  /** Takes back what an outage charged. The rows stay owed until the database has said yes. */
  async payBack(delayMs: number): Promise<void> {
    const owed = [...this.#owed];
    const locked = await giveBackHeldProgress(this.#sql, owed, delayMs);
    this.#owed = this.#owed.filter((row) => !owed.includes(row) || locked.includes(row));
  }

  /** Milliseconds until something unfinished is due, 0 when it is overdue; null when nothing is unfinished. */
  async nextDueInMs(): Promise<number | null> {
    return nextDueProgress(this.#sql, CONSUMERS, KNOWN_EVENTS);
  }
}
