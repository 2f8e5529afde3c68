import { assertNever } from '@ghost/contract';
import type { Logger } from 'pino';

import { describeError } from '../describe-error.js';
import { orAfter } from '../or-after.js';
import type { DeliveryWake } from './delivery-wake.js';
import type { PageOutcome } from './fan-out-page.js';
import type { ClaimedProgress } from './fanout-consumer.js';
import { HeldUp } from './held-up.js';
import type { OutboxProgress } from './outbox-progress.js';

/** Pages under way at once, so rows claimed at once: a row is charged when it starts. */
const BATCH_SIZE = 4;
/** While a page runs: how long something that came due may wait for the next look. */
const LOOK_AGAIN_MS = 500;
/** After a statement that the server ended (deadlock, full disk) while it answers others; doubles. */
const OUTAGE_PAUSE_MS = 1000;
const LONGEST_OUTAGE_PAUSE_MS = 60_000;

const FAILURE_EVENT = {
  retry: 'outbox.failed',
  set_aside: 'outbox.set_aside',
  fenced: 'outbox.fenced',
} as const;

export interface OutboxDrainParts {
  progress: OutboxProgress;
  /** Hands a page to its consumer; whatever it needs may be held by somebody for so long. */
  dispatch: (claimed: ClaimedProgress, lockWithinMs: number) => Promise<PageOutcome>;
  delivery: Pick<DeliveryWake, 'wake'>;
  logger: Logger;
}

/** Works through what is due, page by page; when to do so is its service's business. */
export class OutboxDrain {
  private stopped = false;
  /** A wake that no claim has heeded yet. */
  private woken = false;
  /** Wakes the drain that waits for its pages. */
  private signal: () => void = () => undefined;
  /** Set when the database answers nothing at all: ends the drain. */
  private unreachable: Error | undefined;
  /** Pages in a row that an outage broke off. */
  private brokenPages = 0;
  private saved = false;
  private readonly heldUp = new HeldUp(() => performance.now());

  constructor(private readonly parts: OutboxDrainParts) {}

  /** Something may be due that a drain under way has looked past. */
  wake(): void {
    this.woken = true;
    this.signal();
  }

  /** Whether a wake came after the last claim; forgets it. */
  takeWake(): boolean {
    const { woken } = this;
    this.woken = false;
    return woken;
  }

  /** Whether a page was saved since this was asked; forgets it. */
  takeSaved(): boolean {
    const { saved } = this;
    this.saved = false;
    return saved;
  }

  /** Starts no page any more. */
  stop(): void {
    this.stopped = true;
    this.signal();
  }

  /**
   * Works through what is due until a claim finds nothing and every page has ended. A failed event
   * waits for its back-off and does not keep the drain from the rows behind it.
   * @throws when the database does not answer, after the pages under way have ended
   */
  async drain(): Promise<void> {
    this.unreachable = undefined;
    await this.parts.progress.tidy();
    await this.runDue();
    await this.parts.progress.closeEnded();
  }

  private async runDue(): Promise<void> {
    const running = new Map<ClaimedProgress, Promise<void>>();
    try {
      let more = true;
      while (!this.stopped && this.unreachable === undefined) {
        const woken = new Promise<void>((resolve) => {
          this.signal = resolve;
        });
        // A claim that came short took all there was: the next is after a wake, or the last page.
        if (mayStart(running) && (more || this.woken || running.size === 0)) {
          this.woken = false;
          more = await this.startDue(running);
        }
        if (running.size > 0) {
          const changed = Promise.race([...running.values(), woken]).then(() => false);
          // A page that waits for a lock must not keep others from what comes due meanwhile.
          more = (await orAfter(LOOK_AGAIN_MS, changed, true)) || more;
        } else if (!more && !this.woken) break;
      }
    } finally {
      await Promise.all(running.values());
    }
    if (this.unreachable !== undefined) throw this.unreachable;
  }

  /** Claims what can start now and starts it; tells whether more may be due. */
  private async startDue(running: Map<ClaimedProgress, Promise<void>>): Promise<boolean> {
    const free = BATCH_SIZE - running.size;
    const { claimed, setAside } = await this.parts.progress.claim(free, running.size === 0);
    for (const { eventId, type, consumer, error } of setAside) {
      this.parts.logger.error({
        event: 'outbox.set_aside',
        event_id: eventId,
        type,
        consumer,
        error,
      });
    }
    if (this.stopped) {
      await this.parts.progress.giveBack(claimed);
      return false;
    }
    for (const row of claimed) {
      const page = this.run(row).finally(() => running.delete(row));
      running.set(row, page);
    }
    // Behind a suspect and what was set aside the claim did not look.
    return claimed.length === free || setAside.length > 0 || claimed.some((row) => row.suspect);
  }

  /** Runs one page to its outcome; never rejects. */
  private async run(claimed: ClaimedProgress): Promise<void> {
    const startedAt = performance.now();
    try {
      const againMs = this.heldUp.againMs(claimed);
      if (againMs > 0) return await this.parts.progress.giveBack([claimed], againMs);
      const outcome = await this.parts.dispatch(claimed, this.heldUp.patienceMs(claimed));
      const line = {
        event_id: claimed.event.id,
        type: claimed.event.type,
        consumer: claimed.consumer,
        ms: Math.round(performance.now() - startedAt),
      };
      await this.conclude(claimed, outcome, line);
    } catch (error) {
      // Not even the outcome could be written; the lease ends by itself.
      this.unreachable = new Error('The outcome of a page could not be written', { cause: error });
    }
  }

  private async conclude(
    claimed: ClaimedProgress,
    outcome: PageOutcome,
    line: object,
  ): Promise<void> {
    if (outcome.state !== 'held_up') this.heldUp.forget(claimed);
    switch (outcome.state) {
      case 'saved': {
        const { jobs, skipped, last } = outcome;
        this.parts.logger.info({ event: 'outbox.fanned_out', ...line, jobs, skipped, last });
        this.brokenPages = 0;
        this.saved = true;
        if (last) this.parts.progress.end(claimed);
        if (jobs > 0) this.parts.delivery.wake();
        return;
      }
      case 'fenced':
        // Its lease was lost to another start: nothing was written.
        this.parts.logger.info({ event: 'outbox.fenced', ...line });
        return;
      case 'held_up': {
        const { times, againMs } = this.heldUp.note(claimed);
        // Said once a repository and consumer, however long it lasts.
        this.parts.logger[times === 1 ? 'warn' : 'debug'](
          {
            event: 'outbox.held_up',
            ...line,
            ...describeError(outcome.error),
            again_in_ms: againMs,
          },
          'A transaction that is open holds what events of this repository need, which wait until it ends: see pg_stat_activity',
        );
        return this.parts.progress.putOff(claimed, againMs);
      }
      case 'failed': {
        const described = describeError(outcome.error);
        const { attempts } = claimed;
        const state = await this.parts.progress.fail(claimed, described.error);
        const level = state === 'set_aside' ? 'error' : 'warn';
        this.parts.logger[level]({ event: FAILURE_EVENT[state], ...line, ...described, attempts });
        return;
      }
      case 'outage': {
        this.parts.logger.warn({
          event: 'outbox.interrupted',
          ...line,
          ...describeError(outcome.error),
        });
        this.parts.progress.owe(claimed);
        // Its commit may have been kept, and only the answer lost: then somebody has to close and wake.
        this.parts.progress.sweepAgain();
        this.parts.delivery.wake();
        const pauseMs = OUTAGE_PAUSE_MS * 2 ** this.brokenPages;
        this.brokenPages += 1;
        return this.parts.progress.payBack(Math.min(pauseMs, LONGEST_OUTAGE_PAUSE_MS));
      }
      default:
        return assertNever(outcome);
    }
  }
}

/** A suspect runs alone: what it may kill is then itself only. */
function mayStart(running: ReadonlyMap<ClaimedProgress, unknown>): boolean {
  return running.size < BATCH_SIZE && ![...running.keys()].some((row) => row.suspect);
}
