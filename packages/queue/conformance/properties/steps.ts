import * as fc from 'fast-check';

/** What a random run does, as plain data: a failing case shrinks, prints as JSON and can be pasted back. */
export type Step =
  /** Several verbs are really at once, each on a connection of its own. */
  | { do: 'run'; verbs: Verb[] }
  /** A transaction starts, so that its `now()` is older than what happens meanwhile. */
  | { do: 'begin'; slot: number }
  /** A verb inside an open transaction, which holds its lanes until it ends. */
  | { do: 'inside'; slot: number; verb: TxVerb }
  /** Time goes by. */
  | { do: 'pass'; units: number }
  /** A worker forgets what it held; its leases run on. */
  | { do: 'crash'; worker: number }
  /** Asks when there is work: never later than the model says. */
  | { do: 'look' }
  /** Claims until there is nothing: no claimable job may be left. */
  | { do: 'drain'; worker: number };

/** Verbs that take the caller's transaction. */
export type TxVerb =
  | { verb: 'enqueue'; batches: Batch[] }
  | { verb: 'cancel' | 'redeliver'; picks: number[] }
  | { verb: 'hold' | 'resume' | 'cancelLater'; lane: number }
  | { verb: 'limit'; lane: number; slots: number | null };

export type Verb =
  | TxVerb
  | { verb: 'claim'; worker: number; jobs: number; lanes: number; slowJobs: number; alone: boolean }
  /** What a worker holds, in order: one report each; what has none, or `unreported`, stays in hand. */
  | { verb: 'settle'; worker: number; reports: (Report | 'unreported')[] }
  | { verb: 'extend' | 'release'; worker: number; skip: number; take: number }
  /** With any lease that was ever given: stale, settled before, or somebody's. */
  | { verb: 'late'; worker: number; pick: number; what: Report | 'extend' | 'release' }
  /** A step through the deleted lanes. */
  | { verb: 'cancelSome' }
  | { verb: 'end'; slot: number; commit: boolean };

export interface Batch {
  lane: number;
  count: number;
  delay: number;
}

/** Times are in units of the run; `rest` makes the lane wait. */
export interface Report {
  outcome: 'delivered' | 'retry' | 'dead' | 'held';
  delay: number;
  rest: number;
  fault: 'failed' | 'timed_out' | null;
}

export const LANES = 3;
export const WORKERS = 3;
const SLOTS = 3;
const MAX_STEPS = 50;
/** Longer than a job lives. */
export const LIFE_UNITS = 7 * 24 * 60;

// One worker and lane are busier than the others: what matters is what meets.
const worker = fc.constantFrom(0, 0, 0, 1, 2);
const lane = fc.constantFrom(0, 0, 0, 1, 1, 2);
const slot = fc.nat(SLOTS - 1);
const pick = fc.nat(60);
const picks = fc.array(pick, { minLength: 1, maxLength: 4 });
const wait = fc.constantFrom(0, 0, 0, 1, 3);

const rest = fc.constantFrom(0, 0, 0, 0, 0, 2);
const fault = fc.constantFrom(
  null,
  null,
  'failed' as const,
  'failed' as const,
  'timed_out' as const,
);
const report: fc.Arbitrary<Report> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      outcome: fc.constantFrom('retry', 'retry', 'retry', 'dead', 'held'),
      delay: wait,
      rest,
      fault,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.constant({ outcome: 'delivered', delay: 0, rest: 0, fault: null }),
  },
);
// Mostly few: what is full all the time hides what a lane forgets.
const count = fc.constantFrom(1, 1, 1, 1, 2, 4);
const batch = fc.record({ lane, count, delay: wait });

const enqueue: fc.Arbitrary<TxVerb> = fc.record({
  verb: fc.constant('enqueue'),
  batches: fc.array(batch, { minLength: 1, maxLength: 2 }),
});
const byPeople: fc.Arbitrary<TxVerb> = fc.oneof(
  fc.record({ verb: fc.constantFrom('cancel', 'redeliver'), picks }),
  fc.record({ verb: fc.constantFrom('hold', 'resume', 'resume'), lane }),
  fc.record({ verb: fc.constant('cancelLater'), lane }),
  fc.record({ verb: fc.constant('limit'), lane, slots: fc.constantFrom(null, null, 1, 2, 4) }),
);
const txVerb = fc.oneof({ weight: 3, arbitrary: enqueue }, { weight: 1, arbitrary: byPeople });
const someOfHand = { worker, skip: fc.constantFrom(0, 0, 1), take: fc.integer({ min: 1, max: 4 }) };

const verb: fc.Arbitrary<Verb> = fc.oneof(
  { weight: 4, arbitrary: enqueue },
  { weight: 2, arbitrary: byPeople },
  {
    weight: 6,
    arbitrary: fc.record({
      verb: fc.constant('claim'),
      worker,
      jobs: fc.constantFrom(1, 2, 5, 500),
      lanes: fc.constantFrom(1, 2, 100, 100),
      slowJobs: fc.constantFrom(0, 1, 500, 500, 500),
      alone: fc.constantFrom(false, false, false, false, true),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      verb: fc.constant('settle'),
      worker,
      reports: fc.array(
        fc.oneof({ weight: 4, arbitrary: report }, fc.constant('unreported' as const)),
        { minLength: 1, maxLength: 5 },
      ),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ verb: fc.constantFrom('extend', 'release'), ...someOfHand }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      verb: fc.constant('late'),
      worker,
      pick,
      what: fc.oneof(
        { weight: 2, arbitrary: report },
        fc.constantFrom('extend' as const, 'release' as const),
      ),
    }),
  },
  { weight: 2, arbitrary: fc.constant({ verb: 'cancelSome' }) },
  { weight: 2, arbitrary: fc.record({ verb: fc.constant('end'), slot, commit: fc.boolean() }) },
);

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constant('run'),
      verbs: fc.oneof(
        { weight: 2, arbitrary: fc.array(verb, { minLength: 1, maxLength: 1 }) },
        { weight: 1, arbitrary: fc.array(verb, { minLength: 2, maxLength: 4 }) },
      ),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('begin'), slot }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('inside'), slot, verb: txVerb }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('pass'),
      units: fc.oneof(
        { weight: 20, arbitrary: fc.constantFrom(1, 1, 2, 5) },
        { weight: 1, arbitrary: fc.constant(LIFE_UNITS) },
      ),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('crash'), worker }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('look') }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('drain'), worker }) },
);

export const steps: fc.Arbitrary<Step[]> = fc.array(step, {
  minLength: 1,
  maxLength: MAX_STEPS,
  size: 'max',
});
