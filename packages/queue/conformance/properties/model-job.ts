import type { Settled } from '@ghost/queue';

import { LIFE_UNITS } from './steps.js';

export interface ModelJob {
  readonly id: string;
  readonly lane: string;
  status: Settled['status'];
  dueAt: number;
  expiresAt: number;
  attempts: number;
  tries: number;
  /** Claims since the last result: at two it is claimed alone, at five it is dead. */
  abandoned: number;
  /** The lease whose word counts, whether its time is over or not. */
  lease: { no: number; until: number } | null;
  lastNo: number;
  /** Leases that had their say: told again, they change nothing. */
  settled: number[];
}

/** Abandoned so often it is claimed alone, or dead. */
export const SUSPECT = 2;
export const DIED = 5;

export function newJob(id: string, lane: string, now: number, dueAt: number): ModelJob {
  return {
    id,
    lane,
    status: 'pending',
    dueAt,
    expiresAt: now + LIFE_UNITS,
    attempts: 0,
    tries: 0,
    abandoned: 0,
    lease: null,
    lastNo: 0,
    settled: [],
  };
}
