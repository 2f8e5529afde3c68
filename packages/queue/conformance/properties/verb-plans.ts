import { randomUUID } from 'node:crypto';

import { hookLane, type Lease, type Queue, type Settlement, type Sql } from '@ghost/queue';
import { uuidv7 } from 'uuidv7';

import { type QueueHarness, WEBHOOKS } from '../queue-harness.js';
import type { Call, ClaimWish } from './calls.js';
import { UNIT_S } from './model-lane.js';
import type { QueueModel } from './queue-model.js';
import type { Report, TxVerb, Verb } from './steps.js';

/** Why the jobs of a deleted lane are cancelled; others are for another reason. */
const DELETED = 'deleted';
/**
 * Whether this transaction changed a lane. One that is not there cannot be locked, so another may make it before this
 * transaction ends, and yet after the verb.
 */
const CHANGED_HERE =
  'SELECT EXISTS (SELECT FROM delivery_lane WHERE lane = $1 AND xmin = pg_current_xact_id()::xid) AS there';
/** Long beside a run's real time, so that what is due in the model is due in the database. */
export const UNIT_MS = UNIT_S * 1000;
/** One for all workers. */
export const LEASE_UNITS = 3;

/** A verb that is about to run, and the lanes that it waits for. */
interface Plan {
  locks: readonly string[];
  start(): Promise<Call | null>;
}
interface TxPlan {
  locks: readonly string[];
  work: (tx: Sql) => Promise<Call>;
}

export interface Worker {
  queue: Queue;
  hand: Lease[];
}

interface World {
  harness: QueueHarness;
  workers: readonly Worker[];
  hooks: readonly number[];
  eventId: string;
  contentId: string;
  /** As it is now. */
  model: () => QueueModel;
  /** Ends an open transaction. */
  end: (slot: number, commit: boolean) => Promise<Call | null>;
}

/** Makes calls of the engine out of verbs: which leases, which jobs, which worker. */
export class VerbPlans {
  readonly #harness: QueueHarness;
  readonly #workers: readonly Worker[];
  readonly #hooks: readonly number[];
  readonly #eventId: string;
  readonly #contentId: string;
  readonly #model: World['model'];
  readonly #end: World['end'];
  /** All that were ever given. */
  readonly #leases: Lease[] = [];

  constructor({ harness, workers, hooks, eventId, contentId, model, end }: World) {
    this.#harness = harness;
    this.#workers = workers;
    this.#hooks = hooks;
    this.#eventId = eventId;
    this.#contentId = contentId;
    this.#model = model;
    this.#end = end;
  }

  /** Null where there is nothing to do it with. */
  of(verb: Verb): Plan | null {
    switch (verb.verb) {
      case 'claim':
        return this.claim(workerOf(this.#workers, verb.worker), verb);
      case 'settle': {
        const worker = workerOf(this.#workers, verb.worker);
        const reports = verb.reports.flatMap((report, index) => {
          const lease = worker.hand[index];
          return lease && report !== 'unreported' ? { lease, report } : [];
        });
        return this.#planSettle(worker, reports);
      }
      case 'extend':
      case 'release': {
        const worker = workerOf(this.#workers, verb.worker);
        const leases = worker.hand.slice(verb.skip, verb.skip + verb.take);
        return this.#planLeases(verb.verb, worker, leases);
      }
      case 'late': {
        const worker = workerOf(this.#workers, verb.worker);
        const lease = this.#leases[verb.pick % this.#leases.length];
        if (!lease) return null;
        return typeof verb.what === 'string'
          ? this.#planLeases(verb.what, worker, [lease])
          : this.#planSettle(worker, [{ lease, report: verb.what }]);
      }
      case 'cancelSome':
        return {
          locks: this.#model().deleted,
          start: async () => {
            const { queue } = workerOf(this.#workers, 0);
            // A step takes what stands behind the place that the last one reached, so which those were is asked for.
            const before = new Set(await this.#deleted());
            const answer = await this.#harness.inTransaction((tx) => queue.cancelSome(tx, 500));
            const ids = (await this.#deleted()).filter((id) => !before.has(id));
            return { call: 'cancelSome', ids, answer };
          },
        };
      case 'end':
        return { locks: [], start: () => this.#end(verb.slot, verb.commit) };
      case 'enqueue':
      case 'cancel':
      case 'redeliver':
      case 'hold':
      case 'resume':
      case 'cancelLater':
      case 'limit': {
        const plan = this.inTx(verb);
        return plan && { ...plan, start: () => this.#harness.inTransaction(plan.work) };
      }
    }
  }

  claim(worker: Worker, { jobs, lanes, slowJobs, alone }: ClaimWish): Plan {
    return {
      locks: [],
      start: async () => {
        const wish = { jobs, lanes, slowJobs, alone };
        const claim = await worker.queue.claim({ ...WEBHOOKS, ...wish });
        const answer = claim.jobs.map(({ id, leaseNo, lane, version, slow }) => {
          return { id, leaseNo, lane, version, slow };
        });
        worker.hand.push(...answer);
        this.#leases.push(...answer);
        return { call: 'claim', ...wish, leaseUnits: LEASE_UNITS, answer };
      },
    };
  }

  #planSettle(worker: Worker, reports: { lease: Lease; report: Report }[]): Plan | null {
    if (reports.length === 0) return null;
    return {
      locks: reports.map(({ lease }) => lease.lane),
      start: async () => {
        const answer = await worker.queue.settle(
          reports.map(({ lease, report }) => settlementOf(lease, report)),
        );
        worker.hand = worker.hand.filter((held) => !reports.some(({ lease }) => lease === held));
        return { call: 'settle', reports, answer };
      },
    };
  }

  #planLeases(verb: 'extend' | 'release', worker: Worker, leases: Lease[]): Plan | null {
    if (leases.length === 0) return null;
    const { queue } = worker;
    return {
      locks: leases.map((lease) => lease.lane),
      start: async () => {
        if (verb === 'extend') {
          return {
            call: 'extend',
            leases,
            leaseUnits: LEASE_UNITS,
            answer: await queue.extend(leases),
          };
        }
        const answer = await queue.release(leases);
        worker.hand = worker.hand.filter((held) => !leases.includes(held));
        return { call: 'release', leases, answer };
      },
    };
  }

  /** What was cancelled behind a deletion so far. */
  async #deleted(): Promise<string[]> {
    const lanes = [...this.#model().lanes.keys()];
    const ids = await Promise.all(lanes.map((lane) => this.#harness.cancelled(lane, DELETED)));
    return ids.flat();
  }

  /** What runs in the caller's transaction. */
  inTx(verb: TxVerb): TxPlan | null {
    const { queue } = workerOf(this.#workers, 0);
    switch (verb.verb) {
      case 'enqueue': {
        const jobs = verb.batches.flatMap(({ lane, count, delay }) =>
          Array.from({ length: count }, () => ({ id: uuidv7(), hook: this.#hookOf(lane), delay })),
        );
        const made = jobs.map(({ id, hook, delay }) => ({ id, lane: hookLane(hook), delay }));
        return planned(
          made.map(({ lane }) => lane),
          async (tx) => {
            const answer = await queue.enqueue(
              tx,
              jobs.map((job) => this.#newJob(job)),
            );
            return { call: 'enqueue', jobs: made, answer };
          },
        );
      }
      case 'cancel':
      case 'redeliver': {
        const ids = this.#pickJobs(verb.picks);
        if (ids.length === 0) return null;
        return planned(
          ids.map((id) => this.#model().job(id).lane),
          async (tx) =>
            verb.verb === 'cancel'
              ? { call: 'cancel', ids, answer: await queue.cancel(tx, { jobIds: ids }, 'test') }
              : { call: 'redeliver', ids, answer: await queue.redeliver(tx, ids) },
        );
      }
      case 'limit': {
        const lane = hookLane(this.#hookOf(verb.lane));
        const { slots } = verb;
        return planned([lane], async (tx) => {
          await queue.limit(tx, lane, slots);
          return { call: 'limit', lane, slots };
        });
      }
      case 'hold':
      case 'cancelLater':
      case 'resume': {
        const lane = hookLane(this.#hookOf(verb.lane));
        return planned([lane], async (tx) => {
          if (verb.verb === 'resume') {
            return { call: 'resume', lane, answer: await queue.resume(tx, lane) };
          }
          if (verb.verb === 'hold') {
            await queue.hold(tx, lane, 'test');
            return { call: 'hold', lane };
          }
          await queue.cancelLater(tx, [{ hookId: this.#hookOf(verb.lane) }], DELETED);
          const [found] = await tx.query<{ there: boolean }>(CHANGED_HERE, [lane]);
          return { call: 'cancelLater', lane, there: found?.there ?? false };
        });
      }
    }
  }

  #newJob({ id, hook, delay }: { id: string; hook: number; delay: number }) {
    return {
      id,
      idempotencyKey: `webhook:${randomUUID()}:${hook}`,
      eventId: this.#eventId,
      contentId: this.#contentId,
      lane: hookLane(hook),
      repositoryId: 1,
      kind: 'webhook',
      hookId: hook,
      own: { event: 'ping' },
      delayMs: delay * UNIT_MS,
    } as const;
  }

  #hookOf(lane: number): number {
    return this.#hooks[lane % this.#hooks.length] ?? 1;
  }

  #pickJobs(picks: readonly number[]): string[] {
    const all = [...this.#model().jobs.keys()];
    return [...new Set(picks.flatMap((pick) => all[pick % all.length] ?? []))];
  }
}

function planned(locks: readonly string[], work: TxPlan['work']): TxPlan {
  return { locks, work };
}

export function workerOf(workers: readonly Worker[], index: number): Worker {
  const worker = workers[index % workers.length];
  if (!worker) throw new Error(`No worker ${index}`);
  return worker;
}

function settlementOf(lease: Lease, { outcome, delay, rest, fault }: Report): Settlement {
  const { id, leaseNo, lane, version } = lease;
  return {
    id,
    leaseNo,
    lane,
    version,
    outcome,
    reason: outcome === 'delivered' ? null : 'test',
    charged: true,
    delayMs: outcome === 'retry' ? delay * UNIT_MS : 0,
    ...(rest > 0 && { laneRestMs: rest * UNIT_MS }),
    ...(fault && { laneFault: fault }),
    attempt: null,
  };
}
