import {
  isStale,
  judge,
  type LaneEffects,
  type ModelLane,
  newLane,
  slotsAtMost,
} from './model-lane.js';
import type { Call, ClaimCall } from './calls.js';
import { DIED, type ModelJob, newJob, SUSPECT } from './model-job.js';
import { expectSame, Objection } from './objection.js';
import { LIFE_UNITS, type Report } from './steps.js';

/** What the queue should be, in a few lines: time in units, no locks, one verb after the other. */
export class QueueModel {
  /** Of a lane that has no limit of its own. */
  readonly slots: number;
  now = 0;
  jobs = new Map<string, ModelJob>();
  lanes = new Map<string, ModelLane>();
  /** Lanes that were deleted, once for each time, until a step found nothing pending in them. */
  deleted: string[] = [];

  constructor(slots: number) {
    this.slots = slots;
  }

  addLane(name: string, proven: boolean, earned: number): void {
    this.lanes.set(name, newLane(proven, earned));
  }

  copy(): QueueModel {
    const copy = new QueueModel(this.slots);
    copy.now = this.now;
    copy.jobs = structuredClone(this.jobs);
    copy.lanes = structuredClone(this.lanes);
    copy.deleted = [...this.deleted];
    return copy;
  }

  /** Does what a verb does; throws an `Objection` where it cannot have answered so. */
  apply(call: Call): void {
    switch (call.call) {
      case 'enqueue':
        return this.#enqueue(call);
      case 'claim':
        return this.#claim(call);
      case 'settle':
        return this.#settle(call);
      case 'extend':
        return this.#extend(call);
      case 'release':
        return this.#release(call);
      case 'cancel':
        return this.#cancel(call);
      case 'redeliver':
        return this.#redeliver(call);
      case 'cancelLater':
        if (!call.there) return;
        this.lane(call.lane).held = true;
        this.deleted.push(call.lane);
        return;
      case 'cancelSome':
        return this.#cancelSome(call);
      case 'hold':
        Object.assign(this.lane(call.lane), { there: true, held: true });
        return;
      case 'limit':
        Object.assign(this.lane(call.lane), { there: true, limit: call.slots });
        return;
      case 'resume':
        return this.#resume(call);
    }
  }

  job(id: string): ModelJob {
    const job = this.jobs.get(id);
    if (!job) throw new Objection(`job ${id} is handed out, and was never enqueued`);
    return job;
  }

  lane(name: string): ModelLane {
    const lane = this.lanes.get(name);
    if (!lane) throw new Objection(`lane ${name} is not of this run`);
    return lane;
  }

  inLane(lane: string): ModelJob[] {
    return [...this.jobs.values()].filter((job) => job.lane === lane && job.status === 'pending');
  }

  isLive(job: ModelJob): boolean {
    return job.lease !== null && job.lease.until > this.now;
  }

  /** Past its life, or its workers died of it, and in nobody's hand: any claim may end it. */
  mayBeOver(job: ModelJob): boolean {
    const over = job.expiresAt <= this.now || job.abandoned >= DIED;
    return job.status === 'pending' && over && !this.isLive(job);
  }

  /** How many jobs of a lane claims must bring now, ordinary ones or those that claim alone. */
  claimable(name: string): number {
    const lane = this.lane(name);
    if (lane.held || lane.rests.most > this.now) return 0;
    const jobs = this.inLane(name);
    const live = jobs.filter((job) => this.isLive(job)).length;
    const due = jobs.filter(
      (job) => job.dueAt <= this.now && !this.isLive(job) && !this.mayBeOver(job),
    ).length;
    return Math.max(0, Math.min(this.#slotsOf(name) - live, due));
  }

  /** When a job of a lane is claimable, if nobody does anything; null: never by itself. */
  nextAt(name: string): number | null {
    const lane = this.lane(name);
    const jobs = this.inLane(name);
    if (lane.held || jobs.length === 0) return null;
    const untils = jobs.map((job) => (this.isLive(job) ? (job.lease?.until ?? 0) : 0));
    const ends = untils.filter((until) => until > 0).toSorted((a, b) => a - b);
    const slotAt = ends[ends.length - this.#slotsOf(name)] ?? this.now;
    const due = jobs.map((job, index) => Math.max(job.dueAt, untils[index] ?? 0));
    return Math.max(this.now, lane.rests.most, slotAt, Math.min(...due));
  }

  /** Beside a job that is claimed alone nothing of its lane must come. */
  #slotsOf(name: string): number {
    const lane = this.lane(name);
    const alone = lane.standing === 'suspect' || this.#runsAlone(name);
    return alone ? 1 : slotsAtMost(lane, this.now, this.slots);
  }

  #runsAlone(name: string): boolean {
    return this.inLane(name).some((job) => job.abandoned > SUSPECT && this.isLive(job));
  }

  /** Whether a claim that looks there may change what a lane may have. */
  isLoose(name: string, lane: ModelLane): boolean {
    const suspects = this.inLane(name).some((job) => job.abandoned >= SUSPECT && !this.isLive(job));
    return suspects || lane.standing === 'suspect' || isStale(lane, this.now);
  }

  #enqueue({ jobs, answer }: Call & { call: 'enqueue' }): void {
    if (answer !== jobs.length) throw new Objection(`${answer} of ${jobs.length} were new`);
    for (const { id, lane, delay } of jobs) {
      this.lane(lane).there = true;
      this.jobs.set(id, newJob(id, lane, this.now, this.now + delay));
    }
  }

  #claim(call: ClaimCall): void {
    const { jobs, lanes, slowJobs, alone, leaseUnits, answer } = call;
    for (const [name, lane] of this.lanes) lane.loose ||= this.isLoose(name, lane);
    if (answer.length > jobs) throw new Objection(`a claim of ${jobs} brought ${answer.length}`);
    const slow = answer.filter((one) => one.slow).length;
    if (!alone && slow > slowJobs) throw new Objection(`${slow} slow jobs, not ${slowJobs}`);
    const names = new Set(answer.map(({ lane }) => lane));
    // So many proven ones, and as many slow ones.
    if (names.size > 2 * lanes) throw new Objection(`a claim of ${lanes} lanes saw ${names.size}`);
    for (const { id, leaseNo } of answer) {
      const job = this.job(id);
      const why = this.#whyNot(job, leaseNo, alone);
      if (why) throw new Objection(`job ${id} was claimed as lease ${leaseNo}, and ${why}`);
      job.lease = { no: leaseNo, until: this.now + leaseUnits };
      job.lastNo = leaseNo;
      job.abandoned += 1;
    }
    for (const name of names) {
      const live = this.inLane(name).filter((job) => this.isLive(job)).length;
      const most = slotsAtMost(this.lane(name), this.now, this.slots);
      if (live > most) throw new Objection(`${name} has ${live} in flight, not ${most}`);
    }
  }

  #whyNot(job: ModelJob, leaseNo: number, alone: boolean): string | undefined {
    const lane = this.lane(job.lane);
    if (job.status !== 'pending') return `is ${job.status}`;
    if (this.isLive(job)) return 'is in somebody’s hand';
    if (job.dueAt > this.now) return 'is not due';
    if (this.mayBeOver(job)) return 'is past its life';
    if (lane.held) return 'is held';
    if (lane.rests.least > this.now) return 'rests';
    if (leaseNo <= job.lastNo) return `had lease ${job.lastNo} before`;
    if (!alone && this.#runsAlone(job.lane)) return 'comes beside one that is claimed alone';
    if (job.abandoned >= SUSPECT !== alone) return `was abandoned ${job.abandoned} times`;
    return undefined;
  }

  #settle({ reports, answer }: Call & { call: 'settle' }): void {
    const told = new Map(answer.map((one) => [keyOf(one), one]));
    const effects = new Map<string, LaneEffects>();
    for (const { lease, report } of reports) {
      const job = this.job(lease.id);
      const got = told.get(keyOf(lease));
      const counts = job.status === 'pending' && job.lease?.no === lease.leaseNo;
      if (counts && got) {
        this.#end(job, lease.leaseNo, report);
        effects.set(job.lane, added(effects.get(job.lane), report));
      } else if (counts && !this.mayBeOver(job)) {
        throw new Objection(`the current lease of job ${job.id} did not count`);
      } else if (got && !job.settled.includes(lease.leaseNo)) {
        throw new Objection(`stale lease ${lease.leaseNo} of job ${job.id} counted`);
      }
    }
    // What is told again is answered as it is after the others.
    for (const { lease } of reports) {
      const { status } = this.job(lease.id);
      const got = told.get(keyOf(lease));
      if (got) expectSame(`settled job ${lease.id}`, got, { status });
      told.delete(keyOf(lease));
    }
    if (told.size > 0) throw new Objection('a settle answered for a job that it was not told of');
    for (const [name, one] of effects) judge(this.lane(name), one, this.now, this.slots);
  }

  #end(job: ModelJob, leaseNo: number, { outcome, delay }: Report): void {
    const again = outcome === 'retry' || outcome === 'held';
    const until = this.now + (outcome === 'retry' ? delay : 0);
    if (again && until < job.expiresAt) job.dueAt = until;
    else job.status = again ? 'dead' : outcome;
    job.attempts += 1;
    job.tries += 1;
    job.abandoned = 0;
    job.lease = null;
    job.settled.push(leaseNo);
    if (outcome === 'held') this.lane(job.lane).held = true;
  }

  #extend({ leases, leaseUnits, answer }: Call & { call: 'extend' }): void {
    const current = leases.filter(({ id, leaseNo }) => {
      const job = this.job(id);
      return job.lease?.no === leaseNo && this.isLive(job);
    });
    const differs = leases.find((lease) => answer.has(lease) !== current.includes(lease));
    if (differs) {
      throw new Objection(`extending lease ${differs.leaseNo} of job ${differs.id} was misjudged`);
    }
    for (const { id, leaseNo } of current) {
      this.job(id).lease = { no: leaseNo, until: this.now + leaseUnits };
    }
  }

  #release({ leases, answer }: Call & { call: 'release' }): void {
    let least = 0;
    let most = 0;
    for (const { id, leaseNo } of leases) {
      const job = this.job(id);
      if (job.lease?.no !== leaseNo) continue;
      most += 1;
      if (!this.mayBeOver(job)) least += 1;
      job.abandoned = 0;
      job.lease = null;
    }
    if (answer < least || answer > most) throw new Objection(`${answer} released, not ${most}`);
  }

  #cancel({ ids, answer }: Call & { call: 'cancel' }): void {
    const pending = ids.map((id) => this.job(id)).filter((job) => job.status === 'pending');
    const least = pending.filter((job) => !this.mayBeOver(job));
    if (answer < least.length || answer > pending.length) {
      throw new Objection(`${answer} cancelled, not ${least.length}`);
    }
    // Where some may have been over, what is seen afterwards tells which.
    for (const job of answer === pending.length ? pending : least) {
      job.status = 'cancelled';
      job.lease = null;
    }
  }

  /** Which lane it turns to is its own choice; what it does there is not. */
  #cancelSome({ ids, answer }: Call & { call: 'cancelSome' }): void {
    for (const name of answer.ended) {
      if (!this.deleted.includes(name)) throw new Objection(`${name} ended, and was not deleted`);
      const left = this.inLane(name).filter((job) => !this.mayBeOver(job));
      if (left.length > 0) throw new Objection(`${name} ended with ${left.length} jobs`);
      this.deleted.splice(this.deleted.indexOf(name), 1);
      this.lanes.set(name, newLane(false, 1));
    }
    if (answer.waitMs === null && this.deleted.length > 0) {
      throw new Objection(`nothing is left to cancel, and ${this.deleted[0]} is`);
    }
    if (answer.target === null) return;
    if (!this.deleted.includes(answer.target))
      throw new Objection(`${answer.target} is not deleted`);
    const free = this.inLane(answer.target)
      .filter((job) => !this.isLive(job))
      .map(({ id }) => id);
    // Fewer than all: those behind the place that the step before had reached. Of all nobody need ask which: one of them may be asked for again by now.
    const some = answer.cancelled < free.length && ids.every((id) => free.includes(id));
    this.#cancel({ call: 'cancel', ids: some ? ids : free, answer: answer.cancelled });
  }

  #redeliver({ ids, answer }: Call & { call: 'redeliver' }): void {
    for (const id of ids) {
      const job = this.job(id);
      const again = answer.includes(id);
      if (!this.lane(job.lane).there) {
        if (again) throw new Objection(`job ${id} is pending again, and its lane is gone`);
        continue;
      }
      if (job.status === 'pending' && !again) continue;
      if ((job.status === 'pending' && !this.mayBeOver(job)) || !again) {
        throw new Objection(`redelivery of job ${id}, ${job.status}, said ${again}`);
      }
      job.status = 'pending';
      job.attempts = 0;
      job.abandoned = 0;
      job.dueAt = this.now;
      job.expiresAt = this.now + LIFE_UNITS;
      job.lease = null;
    }
  }

  #resume({ lane: name, answer }: Call & { call: 'resume' }): void {
    const lane = this.lane(name);
    if (answer !== lane.held) throw new Objection(`${name} was held: ${lane.held}, said ${answer}`);
    if (!lane.held) return;
    lane.held = false;
    lane.rests = { least: 0, most: 0 };
  }
}

function added(to: LaneEffects | undefined, { outcome, fault, rest }: Report): LaneEffects {
  return {
    successes: (to?.successes ?? 0) + (outcome === 'delivered' ? 1 : 0),
    faults: (to?.faults ?? 0) + (fault === null ? 0 : 1),
    timeouts: (to?.timeouts ?? 0) + (fault === 'timed_out' ? 1 : 0),
    rest: Math.max(to?.rest ?? 0, rest),
  };
}

function keyOf({ id, leaseNo }: { id: string; leaseNo: number }): string {
  return `${id} ${leaseNo}`;
}
