import type { ContenderName } from './figures.js';
import type { RoundResult } from './summary.js';

/** One round for tests, as fast and as slow as is said. */
export function roundOf(
  contender: ContenderName,
  jobsPerSecond: number,
  light: { p50Ms: number; p99Ms: number } | null = { p50Ms: 5, p99Ms: 12 },
): RoundResult {
  return {
    round: 1,
    contender,
    figures: {
      preloaded: {
        jobsPerSecond,
        cpuMsPerJob: { worker: 0.1, store: contender === 'raw' ? null : 0.05, receiver: 0.02 },
        memoryMostMb: 120,
        repeats: 0,
      },
      light: light === null ? null : { ...light, samples: 100 },
      memoryMb: 90,
    },
  };
}
