/** What a test sees of a job. */
export interface JobState {
  status: string;
  attempts: number;
  tries: number;
  abandoned: number;
  leased: boolean;
  /** From now; below zero for what is past. */
  dueInMs: number;
  lastError: string | null;
}

/** What a test sees of a lane. */
export interface LaneState {
  limit: number | null;
  standing: 'proven' | 'slow' | 'suspect';
  earned: number;
  failures: number;
  /** Since its first failure after its last success; null when it does not fail. */
  failingForMs: number | null;
  held: boolean;
  resting: boolean;
  ownerId: number | null;
  host: string | null;
}
