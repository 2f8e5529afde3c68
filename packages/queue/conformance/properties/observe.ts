import type { LaneState } from '../queue-states.js';
import type { Seen } from './calls.js';
import { type ModelLane, UNIT_S } from './model-lane.js';
import { expectSame, Objection } from './objection.js';
import type { QueueModel } from './queue-model.js';

/** Compares what is seen while nothing runs; what the queue may do by itself is taken over. */
export function observe(model: QueueModel, seen: Seen): void {
  for (const job of model.jobs.values()) {
    const is = seen.jobs.get(job.id);
    if (!is) throw new Objection(`job ${job.id} is gone`);
    if (model.mayBeOver(job) && (is.status === 'dead' || is.status === 'cancelled')) {
      job.status = is.status;
      job.lease = null;
    }
    const { status, attempts, tries } = job;
    const leased = model.isLive(job);
    expectSame(`job ${job.id}`, is, { status, attempts, tries, leased });
    // Of two results of one lease that came at once it tells which one counted.
    const dueIn = Math.max(0, Math.round(is.dueInMs / (UNIT_S * 1000)));
    const waits = Math.max(0, job.dueAt - model.now);
    if (status === 'pending' && !leased && dueIn !== waits) {
      throw new Objection(`job ${job.id} is due in ${dueIn} units, not in ${waits}`);
    }
  }
  for (const [name, lane] of model.lanes) {
    const is = seen.lanes.get(name);
    if (lane.there !== (is !== undefined))
      throw new Objection(`${name} should be there: ${lane.there}`);
    if (!is) continue;
    takeOver(model, name, lane, is);
    const { held, limit, standing, earned, failures, rests } = lane;
    const sure = rests.least > model.now || rests.most <= model.now;
    const resting = sure ? rests.least > model.now : is.resting;
    expectSame(`lane ${name}`, is, { held, limit, standing, earned, failures, resting });
  }
}

function takeOver(model: QueueModel, name: string, lane: ModelLane, is: LaneState): void {
  if (lane.loose || model.isLoose(name, lane)) {
    lane.standing = is.standing;
    lane.earned = is.earned;
    lane.loose = false;
  }
  if (lane.doubt) {
    if (is.failures >= lane.failures) lane.failures = is.failures;
    lane.doubt = false;
  }
}
