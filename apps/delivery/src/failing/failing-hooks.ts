import type { AttemptOutcome } from '@ghost/contract';
import type { EndpointFault, FailingStep } from '@ghost/operations';
import type { Logger } from 'pino';

import type { AttemptReport } from '../report-attempt.js';
import { whoseFault } from '../rules/whose-fault.js';
import { TOLD_HOLD_REASONS } from './told-holds.js';

/** A hook is looked at once in so long, or a hundred times a period where that is short. */
const LOOK_AGAIN_MS = 10 * 60_000;
const LOOKS_A_PERIOD = 100;
/** Faults wait so long for others: with thousands of hooks that fail it is one statement a second. */
const GATHER_MS = 1_000;
/** In one statement. */
const BATCH = 500;
/** Hooks whose last look is remembered (1 MB); with more, those of long ago are looked at again sooner. */
const REMEMBERED = 10_000;

export interface FailingHooksOptions {
  /** Without a success for so long, a hook is disabled; milliseconds. 0: never, and its owner only hears of what an attempt held. */
  periodMs: number;
  /** Which hooks are to be judged now. */
  find: (faults: readonly EndpointFault[]) => Promise<readonly number[]>;
  /** Warns of one, or disables it, if that is due. */
  judge: (fault: EndpointFault) => Promise<FailingStep>;
  /** Monotonic clock in milliseconds. */
  monotonic: () => number;
  /** How long faults wait for others. */
  gatherMs?: number;
  log: Logger;
}

/**
 * Sees to it that a hook which fails for long is warned of, and then disabled, and that its owner hears of one that an
 * attempt held. It hears of faults only, so there is no
 * timer while none come; what it forgets, or what fails, the next fault of that hook asks again. What held a hook is tried again
 * by itself.
 */
export class FailingHooks {
  readonly #options: FailingHooksOptions;
  readonly #everyMs: number;
  readonly #gatherMs: number;
  /** When each was last looked at, the longest ago first. */
  readonly #lookedAt = new Map<number, number>();
  /** The newest fault of each that waits for its look. */
  #waiting = new Map<number, EndpointFault>();
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  #stopped = false;

  constructor(options: FailingHooksOptions) {
    this.#options = options;
    const { periodMs } = options;
    this.#everyMs =
      periodMs === 0 ? LOOK_AGAIN_MS : Math.min(LOOK_AGAIN_MS, periodMs / LOOKS_A_PERIOD);
    this.#gatherMs = Math.min(options.gatherMs ?? GATHER_MS, this.#everyMs);
  }

  /** Hears of a settled try that tells against its destination, or held it. */
  note(report: AttemptReport): void {
    const fault = endpointFault(report);
    if (fault !== null) this.add(fault);
  }

  /** Hears of what was found otherwise: of holds whose process died before it told of them. */
  add(fault: EndpointFault): void {
    if (this.#stopped) return;
    if (!fault.held && this.#options.periodMs === 0) return;
    // To what held a hook nothing is added: only that is judged still, and nobody asks for it again.
    if (!fault.held && this.#waiting.get(fault.hookId)?.held) return;
    const now = this.#options.monotonic();
    const before = this.#lookedAt.get(fault.hookId);
    if (!fault.held && before !== undefined && now - before < this.#everyMs) return;
    if (!fault.held && this.#waiting.size >= REMEMBERED) return;
    this.#remember(fault.hookId, now);
    this.#waiting.set(fault.hookId, fault);
    this.#lookSoon();
  }

  /** Waits for the look that is under way, and judges what held a hook: to that nothing is sent any more, so no fault would ask again. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    for (const [hookId, { held }] of this.#waiting) if (!held) this.#waiting.delete(hookId);
    await this.#looking;
    await this.#lookAtAll();
  }

  #lookSoon(): void {
    this.#timer ??= setTimeout(() => this.#look(), this.#gatherMs).unref();
  }

  #remember(hookId: number, now: number): void {
    this.#lookedAt.delete(hookId);
    this.#lookedAt.set(hookId, now);
    if (this.#lookedAt.size <= REMEMBERED) return;
    const [oldest] = this.#lookedAt.keys();
    if (oldest !== undefined) this.#lookedAt.delete(oldest);
  }

  /** One look at a time: the timer stands for it until it has ended. */
  #look(): void {
    this.#looking = this.#lookAtAll().finally(() => {
      this.#looking = undefined;
      this.#timer = undefined;
      // Heard of since the last batch was taken.
      if (this.#waiting.size > 0) this.#lookSoon();
    });
  }

  async #lookAtAll(): Promise<void> {
    while (this.#waiting.size > 0) {
      const faults = [...this.#waiting.values()].slice(0, BATCH);
      for (const { hookId } of faults) this.#waiting.delete(hookId);
      if (!(await this.#lookAt(faults))) return;
    }
  }

  /** @returns whether all were judged */
  async #lookAt(faults: readonly EndpointFault[]): Promise<boolean> {
    const { find, judge, log } = this.#options;
    try {
      const failing = faults.filter(({ held }) => !held);
      const due = new Set(failing.length === 0 ? [] : await find(failing));
      for (const fault of faults) {
        if (!fault.held && !due.has(fault.hookId)) continue;
        const step = await judge(fault);
        const { hookId, reason } = fault;
        if (step !== null) log.warn({ event: `delivery.hook_${step}`, hookId, reason });
      }
      return true;
    } catch (error) {
      for (const fault of faults) {
        this.#lookedAt.delete(fault.hookId);
        // Nothing is sent to it any more, so no fault would ask again.
        if (fault.held && !this.#stopped) this.#waiting.set(fault.hookId, fault);
      }
      log.error({ event: 'delivery.failing_hooks_failed', hooks: faults.length, err: error });
      return false;
    }
  }
}

/** Null for what tells nothing against the endpoint. */
function endpointFault({ claimed, outcome }: AttemptReport): EndpointFault | null {
  const { job } = claimed;
  if (job.kind !== 'webhook') return null;
  if (outcome.verdict === 'hold' && TOLD_HOLD_REASONS.includes(outcome.reason)) {
    return { ...factsOf(job.hookId, outcome), doubtful: false, held: true };
  }
  if (outcome.verdict !== 'retry') return null;
  const blame = whoseFault(outcome.reason);
  if (blame === 'ours') return null;
  return { ...factsOf(job.hookId, outcome), doubtful: blame === 'doubtful', held: false };
}

function factsOf(
  hookId: number,
  { reason, facts }: Pick<Extract<AttemptOutcome, { verdict: 'hold' }>, 'reason' | 'facts'>,
): Pick<EndpointFault, 'hookId' | 'reason' | 'message' | 'status'> {
  return { hookId, reason, message: facts?.message ?? null, status: facts?.status ?? null };
}
