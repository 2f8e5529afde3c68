import type { Contender, OpenQueue, Place } from '../contenders/contender.js';
import { makeJobs } from '../load.js';
import { runSql } from '../postgres.js';
import { memoryMb } from '../process/process-cost.js';
import type { Receiver } from '../receiver/receiver.js';
import type { LightFigures, RoundFigures } from '../report/figures.js';
import { type AnswerWatch, watchAnswers } from './answer-watch.js';
import { lightJobs, measureLight } from './light.js';
import { measurePreloaded } from './preloaded.js';

export interface RoundPlan {
  place: Place;
  receiver: Receiver;
  jobs: number;
  lightSeconds: number;
  /** CPU time until now of the processes of a store; null: it has none. */
  storeCpuMs: (store: Contender['store']) => (() => number) | null;
  nodeFlags?: readonly string[];
}

/** One contender on an empty queue of its own: a full queue first, then a light load on the warm worker. */
export async function runRound(contender: Contender, plan: RoundPlan): Promise<RoundFigures> {
  const { place, receiver } = plan;
  const answers = watchAnswers();
  const queue = await contender.open(place);
  try {
    const jobs = makeJobs(plan.jobs, place.hooks, place.receiverPort);
    await queue.preload(jobs);
    await settle(queue);
    const { figures, worker } = await measurePreloaded({
      receiver,
      jobs,
      startWorker: () => queue.startWorker({ nodeFlags: plan.nodeFlags ?? [] }),
      storeCpuMs: plan.storeCpuMs(contender.store),
    });
    try {
      const light = contender.store === 'memory' ? null : await lightLoad(queue, plan, answers);
      return { preloaded: figures, light, memoryMb: memoryMb(worker.pid).now };
    } finally {
      await worker.stop();
    }
  } finally {
    answers.stop();
    await queue.close();
  }
}

async function lightLoad(
  queue: OpenQueue,
  plan: RoundPlan,
  answers: AnswerWatch,
): Promise<LightFigures | null> {
  if (plan.lightSeconds === 0) return null;
  const { hooks, receiverPort } = plan.place;
  await settle(queue);
  const jobs = makeJobs(lightJobs(plan.lightSeconds), hooks, receiverPort);
  return measureLight(plan.receiver, jobs, async (job) => {
    await queue.add(job);
    return answers.lastMs();
  });
}

/** Brings each database to the same rest, so that no contender pays for what came before. */
async function settle({ databaseUrl }: OpenQueue): Promise<void> {
  if (databaseUrl !== null) await runSql(databaseUrl, ['VACUUM (ANALYZE)', 'CHECKPOINT']);
}
