import type { BenchJob } from '../load.js';
import { cpuMs, memoryMb } from '../process/process-cost.js';
import type { Running } from '../process/start-process.js';
import type { Receiver } from '../receiver/receiver.js';
import type { PreloadedFigures } from '../report/figures.js';
import { untilReceived } from './until-received.js';

export interface PreloadedRun {
  receiver: Receiver;
  jobs: readonly BenchJob[];
  startWorker: () => Promise<Running>;
  /** CPU time until now of all processes of what the queue is kept in; null: of none. */
  storeCpuMs: (() => number) | null;
}

/** Starts a worker on a full queue; the time counts from the first webhook to the last. */
export async function measurePreloaded(
  run: PreloadedRun,
): Promise<{ figures: PreloadedFigures; worker: Running }> {
  const { receiver, jobs, storeCpuMs } = run;
  await receiver.reset({ times: false });
  const before = { store: storeCpuMs?.() ?? 0, receiver: cpuMs(receiver.pid, true) };
  const worker = await run.startWorker();
  try {
    const started = cpuMs(worker.pid);
    const { count, firstMs, lastMs } = await untilReceived(receiver, jobs.length);
    const perJob = (ms: number) => ms / jobs.length;
    const figures: PreloadedFigures = {
      jobsPerSecond: (jobs.length / (lastMs - firstMs)) * 1000,
      cpuMsPerJob: {
        worker: perJob(cpuMs(worker.pid) - started),
        store: storeCpuMs === null ? null : perJob(storeCpuMs() - before.store),
        receiver: perJob(cpuMs(receiver.pid, true) - before.receiver),
      },
      memoryMostMb: memoryMb(worker.pid).most,
      repeats: count - jobs.length,
    };
    return { figures, worker };
  } catch (error) {
    await worker.stop();
    const message = error instanceof Error ? error.message : String(error);
    throw new Error([message, "The worker's last lines:", ...worker.lastLines()].join('\n'), {
      cause: error,
    });
  }
}
