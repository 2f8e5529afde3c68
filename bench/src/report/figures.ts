/** Whoever is measured; `raw` is our own client without any queue. */
export const NAMES = ['ours', 'graphile-worker', 'pg-boss', 'bullmq', 'raw'] as const;
export type ContenderName = (typeof NAMES)[number];

/** From a full queue. */
export interface PreloadedFigures {
  jobsPerSecond: number;
  /** CPU time a job, by process; null: it has no part in it. */
  cpuMsPerJob: { worker: number; store: number | null; receiver: number };
  /** The worker's resident memory at its most. */
  memoryMostMb: number;
  /** Webhooks that came twice. */
  repeats: number;
}

/** Of jobs that are added one by one. */
export interface LightFigures {
  /** From the answer to the commit, as it reaches the producer, to the whole request at the receiver. */
  p50Ms: number;
  p99Ms: number;
  samples: number;
}

export interface RoundFigures {
  preloaded: PreloadedFigures;
  /** Null: no queue, so nothing to wait for. */
  light: LightFigures | null;
  /** The worker's resident memory after the light load. */
  memoryMb: number;
}
