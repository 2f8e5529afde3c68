import { setTimeout as delay } from 'node:timers/promises';

import { quantile } from '../../../test/support/quantile.js';
import { nowMs } from '../clock.js';
import type { BenchJob } from '../load.js';
import type { Receiver } from '../receiver/receiver.js';
import type { LightFigures } from '../report/figures.js';
import { untilReceived } from './until-received.js';

const LIGHT_JOBS_PER_SECOND = 20;
/** The first are not counted: connections open, code is compiled. */
const WARM_UP_JOBS = 30;

/**
 * Adds jobs one by one at uneven times, which no timer of a contender can fall in step with.
 *
 * @param add - resolves to when the answer to the job's commit came
 */
export async function measureLight(
  receiver: Receiver,
  jobs: readonly BenchJob[],
  add: (job: BenchJob) => Promise<number>,
): Promise<LightFigures> {
  await receiver.reset({ times: true });
  const committed = new Map<string, number>();
  const everyMs = 1_000 / LIGHT_JOBS_PER_SECOND;
  const startedAt = nowMs();
  for (const [index, job] of jobs.entries()) {
    const at = startedAt + (index + Math.random()) * everyMs;
    await delay(Math.max(0, at - nowMs()));
    committed.set(job.id, await add(job));
  }
  await untilReceived(receiver, jobs.length);
  const times = await receiver.times();
  const counted = [...committed].slice(WARM_UP_JOBS);
  const latencies = counted.map(([id, at]) => (times.get(id) ?? Number.NaN) - at);
  if (latencies.some(Number.isNaN)) throw new Error('A webhook came under another id.');
  return {
    p50Ms: quantile(latencies, 0.5),
    p99Ms: quantile(latencies, 0.99),
    samples: latencies.length,
  };
}

/** How many jobs fill so many seconds, the warm-up not counted. */
export function lightJobs(seconds: number): number {
  return WARM_UP_JOBS + seconds * LIGHT_JOBS_PER_SECOND;
}
