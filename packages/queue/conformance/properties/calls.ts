import type { CancelStep, Lease, Settled } from '@ghost/queue';

import type { JobState, LaneState } from '../queue-states.js';
import type { Report } from './steps.js';

/** A verb that ran, with what it was asked and what it answered. */
export type Call =
  | { call: 'enqueue'; jobs: { id: string; lane: string; delay: number }[]; answer: number }
  | ClaimCall
  | { call: 'settle'; reports: { lease: Lease; report: Report }[]; answer: Settled[] }
  | { call: 'extend'; leases: Lease[]; leaseUnits: number; answer: Set<Lease> }
  | { call: 'release'; leases: Lease[]; answer: number }
  | { call: 'cancel'; ids: string[]; answer: number }
  | { call: 'redeliver'; ids: string[]; answer: string[] }
  | { call: 'hold'; lane: string }
  /** `there`: it found the lane, and held it. */
  | { call: 'cancelLater'; lane: string; there: boolean }
  | { call: 'cancelSome'; ids: string[]; answer: CancelStep }
  | { call: 'limit'; lane: string; slots: number | null }
  | { call: 'resume'; lane: string; answer: boolean };

export interface ClaimWish {
  jobs: number;
  lanes: number;
  slowJobs: number;
  alone: boolean;
}
export interface ClaimCall extends ClaimWish {
  call: 'claim';
  leaseUnits: number;
  answer: (Lease & { slow: boolean })[];
}

/** What can be seen of the queue while nothing runs. */
export interface Seen {
  jobs: ReadonlyMap<string, JobState>;
  lanes: ReadonlyMap<string, LaneState>;
}
