import type { JobKind } from '@ghost/contract';
import { DatabaseUnavailableError, isDatabaseOutage } from '@ghost/db';
import type { Claim, NextDue, Queue } from '@ghost/queue';
import type { Logger } from 'pino';

import type { ClaimGate } from './claim-gate.js';
import type { DatabaseState } from './database-state.js';
import { Hands } from './hands.js';
import type { InHand } from './in-hand.js';

/** Lanes that a claim looks at: few while there is little to do, more when a batch comes short of what is due. */
const FEWEST_LANES = 25;
const MOST_LANES = 400;
/** A claim for less than half of the hands waits so long for more of them. */
const GATHER_HANDS_MS = 10;
/** What is due next is asked when the few jobs that a claim brought are on their way: both at once delayed them. */
const ASK_AFTER_MS = 5;
/** Work is due that a claim did not get: its lane is locked by an enqueue that is still open. */
const FIRST_LOCKED_MS = 5;
const LONGEST_LOCKED_MS = 250;
const FIRST_FAULT_MS = 100;
const LONGEST_FAULT_MS = 5_000;
/** Under full load claims always come back full: so often it is looked whether a job waits to be claimed alone. */
const SUSPECTS_EVERY_MS = 1_000;
/** For a job that is claimed alone the hand must be empty; where it is not in time, normal work goes on so long first. */
const EMPTY_WITHIN_MS = 15_000;
/** Where it never is (mails wait for minutes for a relay with a low rate), it is run beside what is not quick. */
const CROWDED_MS = 2_000;
const SUSPECT_RETRY_MS = 60_000;
/** Each lane of which a job is held is met again and again for as long as that lasts: it is said so often, with so many of their names. */
const HELD_AGAIN_MS = 60_000;
const HELD_NAMED = 10;
/** While something is pending a host must not put the process to sleep: its question is the byte that keeps it awake. */
const LONGEST_SLEEP_MS = 5 * 60_000;

export interface PumpOptions {
  kind: JobKind;
  version: number;
  /** How many jobs may be sent at once now. */
  capacity: () => number;
  /** That the contents of jobs of the kind may take in memory, before more is claimed. */
  mostBytes: number;
  queue: Pick<Queue, 'claim' | 'nextDue' | 'release'>;
  /** A claim without an answer is over then, well within its lease; what it brings later is given back. */
  claimWithinMs?: number;
  inHand: InHand;
  /** Shared by all pumps of the process. */
  gate: ClaimGate;
  database: DatabaseState;
  /** Settles when outcomes can be written. */
  writable: () => Promise<void>;
  /** Takes the jobs in hand before it returns; their sending goes on after that. */
  deliver: (claim: Claim) => void;
  log: Logger;
  onClaim?: (tookMs: number, jobs: number) => void;
}

/**
 * Decides when to claim. Wakes (a NOTIFY, `POST /wake`, a due time) make it look; when nothing is
 * pending it has no timer and asks nothing. The next claim goes out while the last batch is sent.
 */
export class Pump {
  readonly #options: PumpOptions;
  readonly #hands: Hands;
  #running = true;
  /** Something may be due: claim. */
  #look = true;
  /** Something changed: ask when the next is due. */
  #ask = false;
  /** That question is on its way: what changes meanwhile, its answer may not know. */
  #asking = false;
  /** When to look by itself, on the monotonic clock; null while nothing is pending. */
  #dueAt: number | null = null;
  /** When a job is to be claimed alone. */
  #suspectAt = Number.POSITIVE_INFINITY;
  #suspectsAskedAt = Number.NEGATIVE_INFINITY;
  /** Lanes without a recent success were left out of the last question: their share was used up. */
  #slowLeftOut = false;
  #heldSaidAt = Number.NEGATIVE_INFINITY;
  #lanes = FEWEST_LANES;
  #lockedMs = FIRST_LOCKED_MS;
  #faultMs = FIRST_FAULT_MS;
  #wakeUp: (() => void) | undefined;
  #done: Promise<void> | undefined;

  constructor(options: PumpOptions) {
    this.#options = options;
    this.#hands = new Hands(options);
    options.inHand.onChange(() => this.#wakeUp?.());
  }

  start(): void {
    this.#done = this.#run();
  }

  wake(): void {
    this.#look = true;
    this.#wakeUp?.();
  }

  /** After a settle: a lane that was full has room again, or a job is due later. */
  settled(pending: boolean): void {
    if (this.#dueAt === null && !pending && !this.#asking && !this.#slowLeftOut) return;
    this.#ask = true;
    this.#wakeUp?.();
  }

  /** Claims nothing more; resolves when the last claim has come back. */
  async stop(): Promise<void> {
    this.#running = false;
    this.#options.gate.stop();
    this.#wakeUp?.();
    await this.#done;
  }

  async #run(): Promise<void> {
    while (this.#running) {
      await this.#untilWoken();
      await this.#options.writable();
      if (!this.#running) return;
      try {
        if (performance.now() >= this.#suspectAt) await this.#claimAlone();
        if (this.#look) await this.#claim();
        else if (this.#ask) await this.#askNextDue({ fruitful: true, tidy: true });
        this.#faultMs = FIRST_FAULT_MS;
      } catch (error) {
        await this.#afterFault(error);
      }
    }
  }

  async #claim(): Promise<void> {
    if (!(await this.#handsFree())) return;
    const { kind, version, queue, gate } = this.#options;
    this.#look = false;
    this.#ask = false;
    const [got, jobs] = await gate.pass(async () => {
      const room = this.#hands.room();
      const { jobs: most } = room;
      if (most === 0 || !this.#running) return [0, 0];
      // A due lane has a job: to look at more of them than jobs are asked for is in vain.
      const lanes = Math.min(this.#lanes, Math.max(FEWEST_LANES, most));
      const asked = { ...room, kind, version, lanes };
      return [await this.#take(queue.claim(asked)), most];
    });
    if (got >= jobs) {
      this.#look = true;
      // Fewer lanes with more jobs each cost less.
      this.#lanes = Math.max(FEWEST_LANES, Math.floor(this.#lanes * 0.8));
      if (performance.now() - this.#suspectsAskedAt < SUSPECTS_EVERY_MS) return;
      const { suspectMs } = await this.#nextDue(false);
      this.#suspectIn(suspectMs);
      return;
    }
    if (got > 0 && got < FEWEST_LANES) {
      await this.#pause(ASK_AFTER_MS, () => !this.#running || this.#look);
      // Whoever looks once more asks after that.
      if (this.#look) return;
    }
    await this.#askNextDue({ fruitful: got > 0, tidy: got === 0 });
  }

  /** A job that workers died of: whatever it does, nothing else is in hand meanwhile. */
  async #claimAlone(): Promise<void> {
    const { kind, version, queue, gate, log } = this.#options;
    this.#suspectAt = Number.POSITIVE_INFINITY;
    // Another worker may have run it meanwhile: the hand is not emptied for nothing.
    const { suspectMs } = await this.#nextDue(false);
    this.#suspectIn(suspectMs);
    if (suspectMs !== 0) return;
    this.#suspectAt = Number.POSITIVE_INFINITY;
    const asked = { kind, version, jobs: 1, lanes: FEWEST_LANES, alone: true };
    const waits = { withinMs: EMPTY_WITHIN_MS, crowdedMs: CROWDED_MS };
    const ran = await gate.alone(waits, async (beside) => {
      log.warn(
        { event: 'delivery.claims_alone', kind, beside },
        'Workers died with a job: it is run alone',
      );
      await this.#take(queue.claim(asked));
    });
    if (!ran) this.#suspectIn(SUSPECT_RETRY_MS);
    // Normal work first, then the next one.
    this.#look = true;
  }

  /** Hands over what a claim brings; returns how many jobs it brought. */
  async #take(asked: Promise<Claim>): Promise<number> {
    const { deliver, database, onClaim } = this.#options;
    const startedAt = performance.now();
    const claim = await this.#inTime(asked);
    database.answered();
    if (claim.held.length > 0) this.#sayHeld(claim.held);
    const got = claim.jobs.length + claim.unreadable.length;
    onClaim?.(performance.now() - startedAt, got);
    if (got > 0) this.#hands.taking(got, () => deliver(claim));
    return got;
  }

  #sayHeld(lanes: readonly string[]): void {
    const { log, kind } = this.#options;
    if (performance.now() < this.#heldSaidAt + HELD_AGAIN_MS) return;
    this.#heldSaidAt = performance.now();
    log.warn(
      { event: 'delivery.jobs_held', kind, lanes: lanes.slice(0, HELD_NAMED), of: lanes.length },
      'A transaction that is open holds jobs of these lanes, which rest until it ends: see pg_stat_activity',
    );
  }

  /** `fruitful`: the last claim brought jobs, so what is still due is worth a claim at once. */
  async #askNextDue({ fruitful, tidy }: { fruitful: boolean; tidy: boolean }): Promise<void> {
    const { workMs: dueMs, suspectMs } = await this.#nextDue(tidy);
    this.#suspectIn(suspectMs);
    if (dueMs === 0) {
      this.#lanes = Math.min(MOST_LANES, this.#lanes * 2);
      if (fruitful) {
        this.#lockedMs = FIRST_LOCKED_MS;
        this.#look = true;
        return;
      }
      this.#dueAt = performance.now() + this.#lockedMs;
      this.#lockedMs = Math.min(LONGEST_LOCKED_MS, this.#lockedMs * 2);
      return;
    }
    this.#lanes = FEWEST_LANES;
    this.#lockedMs = FIRST_LOCKED_MS;
    this.#dueAt = dueMs === null ? null : performance.now() + dueMs;
  }

  async #nextDue(tidy: boolean): Promise<NextDue> {
    const { kind, version, queue, database } = this.#options;
    this.#ask = false;
    this.#asking = true;
    const slow = this.#hands.room().slowJobs > 0;
    this.#slowLeftOut = !slow;
    this.#suspectsAskedAt = performance.now();
    try {
      const due = await queue.nextDue({ kind, version }, { slow, tidy });
      database.answered();
      return due;
    } finally {
      this.#asking = false;
    }
  }

  #suspectIn(ms: number | null): void {
    if (ms !== null) this.#suspectAt = Math.min(this.#suspectAt, performance.now() + ms);
  }

  async #inTime(asked: Promise<Claim>): Promise<Claim> {
    const { claimWithinMs } = this.#options;
    if (claimWithinMs === undefined) return asked;
    let timer: NodeJS.Timeout | undefined;
    const tooLate = new Promise<null>((resolve) => {
      timer = setTimeout(() => resolve(null), claimWithinMs);
    });
    try {
      const claim = await Promise.race([asked, tooLate]);
      if (claim !== null) return claim;
    } finally {
      clearTimeout(timer);
    }
    void this.#giveBack(asked);
    throw new DatabaseUnavailableError(`No answer to a claim within ${claimWithinMs} ms`);
  }

  async #giveBack(asked: Promise<Claim>): Promise<void> {
    const { queue, kind, log } = this.#options;
    try {
      const { jobs, unreadable } = await asked;
      const released = await queue.release([...jobs, ...unreadable]);
      log.warn({ event: 'delivery.claim_late', kind, released });
    } catch (error) {
      log.warn({ event: 'delivery.claim_late', kind, err: error });
    }
  }

  async #afterFault(error: unknown): Promise<void> {
    const { kind, log, database } = this.#options;
    this.#look = true;
    if (isDatabaseOutage(error)) database.failed(error);
    else log.error({ event: 'delivery.claim_failed', kind, err: error });
    await this.#pause(this.#faultMs, () => !this.#running);
    this.#faultMs = Math.min(LONGEST_FAULT_MS, this.#faultMs * 2);
  }

  /** Waits while there is no hand free, and a moment for half of them; false when the process ends. */
  async #handsFree(): Promise<boolean> {
    const hands = this.#hands;
    await this.#pause(null, () => !this.#running || hands.free > 0);
    const enough = hands.gathered();
    await this.#pause(GATHER_HANDS_MS, () => !this.#running || enough());
    return this.#running && hands.free > 0;
  }

  async #untilWoken(): Promise<void> {
    const now = performance.now();
    const nextAt = Math.min(this.#dueAt ?? Number.POSITIVE_INFINITY, this.#suspectAt);
    const sleepMs = Number.isFinite(nextAt)
      ? Math.min(LONGEST_SLEEP_MS, Math.max(0, nextAt - now))
      : null;
    await this.#pause(sleepMs, () => !this.#running || this.#look || this.#ask);
    if (this.#look || this.#ask || sleepMs === null) return;
    const passed = performance.now() + 1;
    if (this.#dueAt !== null && passed >= this.#dueAt) this.#look = true;
    else if (passed < this.#suspectAt) this.#ask = true;
  }

  /** Waits until `enough`, asked at each change, or for so long (null: without an end). */
  #pause(forMs: number | null, enough: () => boolean): Promise<void> {
    if (enough()) return Promise.resolve();
    return new Promise((resolve) => {
      const finish = () => {
        clearTimeout(timer);
        this.#wakeUp = undefined;
        resolve();
      };
      const timer = forMs === null ? undefined : setTimeout(finish, forMs);
      this.#wakeUp = () => {
        if (enough()) finish();
      };
    });
  }
}
