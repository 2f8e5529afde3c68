import { median } from '../../../test/support/quantile.js';
import type { ContenderName, RoundFigures } from './figures.js';

/** One contender in one round. */
export interface RoundResult {
  round: number;
  contender: ContenderName;
  figures: RoundFigures;
}

/** The medians of a contender's rounds. */
export interface Summary {
  contender: ContenderName;
  rounds: number;
  jobsPerSecond: number;
  workerCpuMs: number;
  storeCpuMs: number | null;
  receiverCpuMs: number;
  p50Ms: number | null;
  p99Ms: number | null;
  memoryMostMb: number;
  memoryMb: number;
  repeats: number;
}

/** Medians by contender, in the order of their first round. */
export function summarize(results: readonly RoundResult[]): Summary[] {
  const names = [...new Set(results.map(({ contender }) => contender))];
  return names.map((contender) => {
    const rounds = results.filter((one) => one.contender === contender);
    const of = (read: (figures: RoundFigures) => number | null): number | null => {
      const values = rounds.map(({ figures }) => read(figures)).filter((one) => one !== null);
      return values.length === 0 ? null : median(values);
    };
    return {
      contender,
      rounds: rounds.length,
      jobsPerSecond: of(({ preloaded }) => preloaded.jobsPerSecond) ?? 0,
      workerCpuMs: of(({ preloaded }) => preloaded.cpuMsPerJob.worker) ?? 0,
      storeCpuMs: of(({ preloaded }) => preloaded.cpuMsPerJob.store),
      receiverCpuMs: of(({ preloaded }) => preloaded.cpuMsPerJob.receiver) ?? 0,
      p50Ms: of(({ light }) => light?.p50Ms ?? null),
      p99Ms: of(({ light }) => light?.p99Ms ?? null),
      memoryMostMb: of(({ preloaded }) => preloaded.memoryMostMb) ?? 0,
      memoryMb: of(({ memoryMb }) => memoryMb) ?? 0,
      repeats: Math.max(...rounds.map(({ figures }) => figures.preloaded.repeats)),
    };
  });
}
