import type { Report, Step, Verb } from './steps.js';

const run = (...verbs: Verb[]): Step => ({ do: 'run', verbs });
const jobs = (count: number, delay = 0): Verb & { verb: 'enqueue' } => ({
  verb: 'enqueue',
  batches: [{ lane: 0, count, delay }],
});
const drain = (worker: number): Step => ({ do: 'drain', worker });
const pass = (units: number): Step => ({ do: 'pass', units });
const report = (outcome: Report['outcome']): Report => {
  return { outcome, delay: 0, rest: 0, fault: null };
};
const failed: Report = { outcome: 'retry', delay: 3, rest: 0, fault: 'failed' };
const settle = (...reports: (Report | 'unreported')[]): Verb => ({
  verb: 'settle',
  worker: 0,
  reports,
});
const late = (pick: number, what: Report | 'extend' | 'release'): Verb => {
  return { verb: 'late', worker: 1, pick, what };
};
const commit: Verb = { verb: 'end', slot: 0, commit: true };
const claim: Verb = {
  verb: 'claim',
  worker: 0,
  jobs: 500,
  lanes: 100,
  slowJobs: 500,
  alone: false,
};
const deleteLane: Verb = { verb: 'cancelLater', lane: 0 };
const cancelSome: Verb = { verb: 'cancelSome' };
const look: Step = { do: 'look' };
const inside: Step = { do: 'inside', slot: 0, verb: jobs(1) };

/** A claim that takes what is there while an enqueue commits: what it must not have seen is due at once. */
const claimBesideCommit: Step[] = [run(jobs(1)), inside, run(claim, commit), look, drain(1)];

/** What chance would meet too seldom: played before the random runs. */
export const KNOWN_INTERLEAVINGS: readonly (readonly Step[])[] = [
  // The suspect stands behind others, and a lane that may have one at a time sees it all the same.
  [
    run(jobs(3)),
    drain(1),
    run({ verb: 'release', worker: 1, skip: 0, take: 2 }),
    ...[pass(3), drain(0), pass(3), drain(1)],
  ],
  // The lane is due, and so the open enqueue lowers nothing in it: the claim beside it must not empty it.
  [run(jobs(1)), inside, drain(0), run(commit), look, drain(1)],
  [run(jobs(1)), inside, run(claim), run(claim, commit), look, drain(1)],
  ...Array.from({ length: 20 }, () => claimBesideCommit),
  // Its now() is older than the claim that emptied the lane.
  [
    { do: 'begin', slot: 0 },
    run(jobs(1)),
    drain(0),
    run(settle(report('delivered'))),
    drain(0),
    inside,
    run(commit),
    look,
  ],
  // A full lane gets a slot back: by a cancel, a release, a higher limit, a result.
  [run(jobs(5)), drain(0), run({ verb: 'cancel', picks: [0] }), look, drain(1)],
  [run(jobs(5)), drain(0), run({ verb: 'release', worker: 0, skip: 0, take: 1 }), look, drain(1)],
  [run(jobs(5)), drain(0), run({ verb: 'limit', lane: 0, slots: 4 }), look, drain(1)],
  [run(jobs(5)), drain(0), run(settle('unreported', report('delivered'))), look, drain(1)],
  // It is due, and the only job that it has is in somebody's hand.
  [
    run(jobs(1)),
    drain(0),
    run({ verb: 'hold', lane: 0 }),
    run({ verb: 'resume', lane: 0 }),
    look,
    drain(1),
  ],
  // The others of a batch are claimed again when their leases end.
  [run(jobs(2)), drain(0), run(settle(report('delivered'))), pass(3), look, drain(1)],
  [run(jobs(1)), drain(0), run(settle(report('retry'))), look, drain(1)],
  // What only waits for later lets the claim start to look there; what is asked for again is due before it.
  [
    run(jobs(1)),
    run(jobs(1, 3)),
    drain(0),
    run(settle(report('delivered'))),
    run({ verb: 'hold', lane: 0 }),
    run({ verb: 'resume', lane: 0 }),
    drain(0),
    run({ verb: 'redeliver', picks: [0] }),
    look,
    drain(1),
  ],
  // Its now(), and so the time it is due, is older than what a claim saw first in the lane.
  [
    run(jobs(1)),
    drain(0),
    run(settle(report('delivered'))),
    { do: 'begin', slot: 0 },
    run(jobs(1)),
    drain(0),
    run(settle(report('delivered'))),
    { do: 'inside', slot: 0, verb: { verb: 'redeliver', picks: [0] } },
    run(commit),
    look,
    drain(1),
  ],
  // Five failures open the breaker; the success of a probe lets the rest go on.
  [
    run(jobs(8)),
    drain(0),
    run(settle(failed, failed, failed)),
    drain(0),
    run(settle(failed, failed)),
    pass(1),
    drain(0),
    run(settle(report('delivered'))),
    look,
    drain(1),
  ],
  // A success of what was in flight before ends the breaker's pause.
  [
    run(jobs(9)),
    drain(0),
    run(settle('unreported', failed, failed)),
    drain(0),
    run(settle('unreported', failed, failed)),
    drain(0),
    run(settle('unreported', failed)),
    run(settle(report('delivered'))),
    look,
    drain(1),
  ],
  // Whoever lost a lease says something of it: after its end, and under the next one.
  [run(jobs(1)), drain(0), pass(3), run(late(0, 'extend')), look, drain(1)],
  ...(['extend', 'release', report('delivered'), report('retry')] as const).map((what) => [
    run(jobs(1)),
    drain(0),
    pass(3),
    drain(2),
    run(late(0, what)),
    look,
  ]),
  [run(jobs(1)), drain(0), run(late(0, 'release')), run(late(0, report('delivered')))],
  // Two workers died of it: it is claimed alone; five, and it is dead.
  [
    run(jobs(3)),
    ...Array.from({ length: 6 }, () => [drain(0), pass(3)]).flat(),
    run(jobs(1)),
    look,
  ],
  // A deleted lane: what is free ends, what a worker holds is its own, and then the lane is gone.
  [
    run(jobs(3)),
    run({ ...claim, jobs: 1 }),
    run(deleteLane),
    run(cancelSome),
    run(cancelSome),
    run(settle(report('retry'))),
    run(cancelSome),
    run(cancelSome),
    run({ verb: 'redeliver', picks: [0, 1, 2] }),
    look,
    drain(1),
  ],
  // One that is not there yet when it is deleted: whoever makes it meanwhile has a lane that nobody deleted.
  [
    { do: 'inside', slot: 0, verb: { verb: 'cancelLater', lane: 0 } },
    run({ verb: 'hold', lane: 0 }),
    run(commit),
    run(cancelSome),
    look,
  ],
  // What comes back is due before what a step reached already.
  [
    run(jobs(1)),
    run(jobs(1, 3)),
    drain(0),
    run(deleteLane),
    run(cancelSome),
    run(settle(report('retry'))),
    run(cancelSome),
    run(cancelSome),
    look,
  ],
  // While its lane is removed a job is enqueued there: before, beside and after it.
  ...Array.from({ length: 6 }, () => [
    run(jobs(1)),
    run(deleteLane),
    run(cancelSome),
    inside,
    run(cancelSome, commit),
    run(cancelSome),
    look,
    drain(1),
  ]),
  ...Array.from({ length: 6 }, () => [
    run(deleteLane),
    run(cancelSome, jobs(1), { verb: 'hold', lane: 0 }),
    run(cancelSome, jobs(1)),
    look,
    drain(1),
  ]),
  // Whoever holds the lane just now is not waited for.
  [
    run(deleteLane),
    { do: 'inside', slot: 0, verb: { verb: 'limit', lane: 0, slots: 2 } },
    run(cancelSome),
    run(commit),
    run(cancelSome),
    look,
  ],
];
