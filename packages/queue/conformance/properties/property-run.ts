import { setTimeout as delay } from 'node:timers/promises';

import { hookLane } from '@ghost/queue';

import { type OpenTransaction, type QueueHarness, WEBHOOKS } from '../queue-harness.js';
import { explainCalls } from './explain-calls.js';
import type { Call, ClaimWish, Seen } from './calls.js';
import { Objection } from './objection.js';
import { observe } from './observe.js';
import { QueueModel } from './queue-model.js';
import { LANES, type Report, type Step, type TxVerb, type Verb, WORKERS } from './steps.js';
import { LEASE_UNITS, UNIT_MS, VerbPlans, type Worker, workerOf } from './verb-plans.js';

const LANE_SLOTS = 3;
/** A verb that waits so long waits for ever; the database cuts an open transaction that idles for 15 s. */
const VERB_LIMIT_MS = 8_000;
/** So many empty claims in a row may follow `nextDue() = 0`: a lane's next_at may be early, never for long. */
const EMPTY_CLAIMS = 3;
const DRAIN_ROUNDS = 200;
/** One for each connection that may be asked, and some. */
const FULL_LOOKS = 20;
/** What a clock may differ in rounding. */
const SLACK_MS = 1_000;

interface OpenSlot {
  transaction: OpenTransaction;
  locks: readonly string[];
  call: Call | null;
}

/** One random run: does the steps on the engine and holds each answer against the model. */
export class PropertyRun {
  readonly #harness: QueueHarness;
  readonly #lanes: readonly string[];
  readonly #workers: readonly Worker[];
  readonly #open = new Map<number, OpenSlot>();
  readonly #plans: VerbPlans;
  #model: QueueModel;

  private constructor(
    harness: QueueHarness,
    ids: { eventId: string; contentId: string },
    workers: readonly Worker[],
  ) {
    this.#harness = harness;
    const hooks = Array.from({ length: LANES }, (_, index) => index + 1);
    this.#lanes = hooks.map(hookLane);
    this.#workers = workers;
    this.#model = new QueueModel(LANE_SLOTS);
    this.#plans = new VerbPlans({
      harness,
      workers,
      hooks,
      ...ids,
      model: () => this.#model,
      end: (slot, commit) => this.#end(slot, commit),
    });
  }

  /** Does all steps, then drains; throws an `Objection` for the first thing that the model forbids. */
  static async play(harness: QueueHarness, steps: readonly Step[]): Promise<void> {
    await harness.empty();
    const eventId = await harness.event();
    const options = { leaseMs: LEASE_UNITS * UNIT_MS, laneSlots: LANE_SLOTS };
    const workers = Array.from({ length: WORKERS }, (): Worker => {
      return { queue: harness.engine(options), hand: [] };
    });
    const contentId = await harness.inTransaction((tx) =>
      workerOf(workers, 0).queue.storeContent(tx, { kind: 'webhook', eventId, body: '{}' }),
    );
    const run = new PropertyRun(harness, { eventId, contentId }, workers);
    await run.#makeLanes();
    try {
      for (const step of steps) await run.#step(step);
      await run.#finish();
    } finally {
      // One that was cut cannot be rolled back, and must not hide why.
      await Promise.allSettled([...run.#open.values()].map((slot) => slot.transaction.rollback()));
    }
  }

  /** The last lane is new; the others have earned all that a lane can. */
  async #makeLanes(): Promise<void> {
    for (const lane of this.#lanes) {
      const proven = lane !== this.#lanes.at(-1);
      if (proven) await this.#harness.prove(lane);
      const earned = (await this.#harness.lanes([lane])).get(lane)?.earned ?? 1;
      this.#model.addLane(lane, proven, earned);
    }
  }

  async #step(step: Step): Promise<void> {
    switch (step.do) {
      case 'run':
        return this.#atOnce(step.verbs);
      case 'begin':
        await this.#begin(step.slot);
        return;
      case 'inside':
        return this.#inside(step.slot, step.verb);
      case 'pass':
        // An open transaction would have to grow older too, and holds the rows.
        if (this.#locked().size === 0) await this.#pass(step.units);
        return;
      case 'crash':
        workerOf(this.#workers, step.worker).hand = [];
        return;
      case 'look':
        await this.#look();
        return;
      case 'drain':
        return this.#drain(workerOf(this.#workers, step.worker));
    }
  }

  /** Starts verbs together; where one needs a lane that an open transaction holds, that commits beside it. */
  async #atOnce(verbs: readonly Verb[]): Promise<void> {
    const plans = verbs.flatMap((verb) => this.#plans.of(verb) ?? []);
    const needed = new Set(plans.flatMap((plan) => plan.locks));
    const ended = new Set(verbs.flatMap((verb) => (verb.verb === 'end' ? verb.slot : [])));
    const blocking = [...this.#open].flatMap(([slot, { locks }]) =>
      !ended.has(slot) && locks.some((lane) => needed.has(lane)) ? slot : [],
    );
    const started = plans.map((plan) => plan.start());
    for (const slot of blocking) {
      // One round trip, in which the others come to wait.
      started.push(this.#harness.jobs([]).then(() => this.#end(slot, true)));
    }
    const calls = await inTime(started);
    await this.#explain(calls.filter((call) => call !== null));
  }

  async #explain(calls: readonly Call[]): Promise<void> {
    if (calls.length === 0) return;
    this.#model = explainCalls(this.#model, calls, await this.#see(calls));
  }

  async #observe(): Promise<void> {
    observe(this.#model, await this.#see([]));
  }

  async #see(calls: readonly Call[]): Promise<Seen> {
    const made = calls.flatMap((call) =>
      call.call === 'enqueue' ? call.jobs.map((job) => job.id) : [],
    );
    const [jobs, lanes] = await Promise.all([
      this.#harness.jobs([...this.#model.jobs.keys(), ...made]),
      this.#harness.lanes(this.#lanes),
    ]);
    return { jobs, lanes };
  }

  async #begin(slot: number): Promise<OpenSlot> {
    const there = this.#open.get(slot);
    if (there) return there;
    const transaction = await this.#harness.open();
    // The first statement decides what `now()` is.
    await transaction.tx.query('SELECT now()', []);
    const begun = { transaction, locks: [], call: null };
    this.#open.set(slot, begun);
    return begun;
  }

  async #inside(slot: number, verb: TxVerb): Promise<void> {
    const open = await this.#begin(slot);
    const plan = this.#plans.inTx(verb);
    if (!plan || open.call) return;
    for (const [other, { locks }] of this.#open) {
      if (plan.locks.some((lane) => locks.includes(lane))) {
        await this.#atOnce([{ verb: 'end', slot: other, commit: true }]);
      }
    }
    const [call] = await inTime([plan.work(open.transaction.tx)]);
    this.#open.set(slot, { ...open, locks: plan.locks, call: call ?? null });
  }

  async #end(slot: number, commit: boolean): Promise<Call | null> {
    const open = this.#open.get(slot);
    if (!open) return null;
    this.#open.delete(slot);
    await (commit ? open.transaction.commit() : open.transaction.rollback());
    return commit ? open.call : null;
  }

  async #pass(units: number): Promise<void> {
    await this.#harness.advance(units * UNIT_MS);
    this.#model.now += units;
  }

  /** Lanes that an open transaction holds: a claim passes them over. */
  #locked(): Set<string> {
    return new Set([...this.#open.values()].flatMap((slot) => slot.locks));
  }

  async #look(): Promise<number | null> {
    const due = await this.#nextDue();
    for (const lane of this.#lanes) {
      const at = this.#model.nextAt(lane);
      if (at === null) continue;
      const waitMs = (at - this.#model.now) * UNIT_MS;
      if (due === null || due > waitMs + (waitMs === 0 ? 0 : SLACK_MS)) {
        throw new Objection(`${lane} has work in ${waitMs} ms, and nextDue says ${due}`);
      }
    }
    return due;
  }

  async #nextDue(): Promise<number | null> {
    const { workMs, suspectMs } = await workerOf(this.#workers, 0).queue.nextDue(WEBHOOKS);
    return workMs === null || suspectMs === null
      ? (workMs ?? suspectMs)
      : Math.min(workMs, suspectMs);
  }

  /** Claims until nothing comes; then nothing may be claimable but in lanes that are locked. */
  async #drain(worker: Worker): Promise<void> {
    let empty = 0;
    for (let round = 0; round < DRAIN_ROUNDS; round += 1) {
      const before = worker.hand.length;
      for (const wish of [EVERYTHING, ALONE]) {
        const call = await this.#plans.claim(worker, wish).start();
        if (call) this.#model.apply(call);
      }
      if (worker.hand.length > before) {
        empty = 0;
        continue;
      }
      empty += 1;
      await this.#observe();
      const due = await this.#look();
      const locked = this.#locked();
      const left = this.#lanes.filter(
        (lane) => !locked.has(lane) && this.#model.claimable(lane) > 0,
      );
      if (due !== 0 || empty >= EMPTY_CLAIMS) {
        if (left.length > 0) throw new Objection(`${left[0]} has work that no claim brings`);
        if (due === 0 && locked.size === 0) throw new Objection('nextDue says 0 for no work');
        return;
      }
    }
    throw new Objection(`claims still bring jobs after ${DRAIN_ROUNDS} rounds`);
  }

  /** Ends what is open, then delivers everything, first what is not held; time goes by only where the model waits. */
  async #finish(): Promise<void> {
    await this.#atOnce([...this.#open.keys()].map((slot) => ({ verb: 'end', slot, commit: true })));
    const [worker] = this.#workers;
    if (!worker) return;
    await this.#drain(worker);
    await this.#deliverAll(worker);
    await this.#cancelAll();
    for (const lane of this.#lanes.keys()) await this.#atOnce([{ verb: 'resume', lane }]);
    await this.#deliverAll(worker);
    const left = this.#lanes.flatMap((lane) => this.#model.inLane(lane));
    let due = await this.#nextDue();
    // After runs without a vacuum a connection begins its looks behind what is dead, and says when its next full look is (0038).
    for (let look = 0; due !== null && due > 0 && due <= SLACK_MS && look < FULL_LOOKS; look += 1) {
      await delay(due);
      due = await this.#nextDue();
    }
    if (left.length > 0 || due !== null) {
      throw new Objection(`${left.length} jobs are left, and nextDue says ${due}`);
    }
  }

  /** What a crashed worker held is free when its leases end. */
  async #cancelAll(): Promise<void> {
    await this.#pass(LEASE_UNITS);
    for (let round = 0; round < DRAIN_ROUNDS && this.#model.deleted.length > 0; round += 1) {
      await this.#atOnce([{ verb: 'cancelSome' }]);
    }
    if (this.#model.deleted.length > 0) throw new Objection('deleted lanes are never done with');
  }

  async #deliverAll(worker: Worker): Promise<void> {
    for (let round = 0; round < DRAIN_ROUNDS; round += 1) {
      for (const index of this.#workers.keys()) {
        const reports = workerOf(this.#workers, index).hand.map(() => DELIVERED);
        await this.#atOnce([{ verb: 'settle', worker: index, reports }]);
      }
      await this.#drain(worker);
      if (worker.hand.length > 0) continue;
      const next = this.#lanes.flatMap((lane) => this.#model.nextAt(lane) ?? []);
      if (next.length === 0) return;
      await this.#look();
      await this.#pass(Math.ceil(Math.min(...next) - this.#model.now));
    }
    throw new Objection(`not drained after ${DRAIN_ROUNDS} rounds`);
  }
}

const DELIVERED: Report = { outcome: 'delivered', delay: 0, rest: 0, fault: null };
const EVERYTHING: ClaimWish = { jobs: 500, lanes: 100, slowJobs: 500, alone: false };
const ALONE: ClaimWish = { ...EVERYTHING, jobs: 1, alone: true };

/** Waits for all, also where one fails: nothing may go on beside the next step. */
async function inTime<T>(started: readonly Promise<T>[]): Promise<T[]> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Objection('a verb waits for ever')), VERB_LIMIT_MS);
  });
  try {
    const ends = await Promise.race([Promise.allSettled(started), late]);
    return ends.map((end) => {
      if (end.status === 'rejected') throw end.reason;
      return end.value;
    });
  } finally {
    clearTimeout(timer);
  }
}
