/** What a step may take: the rest of the database waits for its rows, its pages and its processor. */
const STEP_MS = 10;
/** Of the time between two steps, in times of the last one: a quarter of one processor at most. */
const PAUSE_RATIO = 3;
const LEAST_PAUSE_MS = 10;
const LEAST_ROWS = 20;
const MOST_ROWS = 1_000;
const MOST_SHRINKING = 0.25;
const MOST_GROWTH = 1.5;

export const FIRST_ROWS = 100;

interface StepPace {
  /** How many rows of a kind the next step may take. */
  rows: number;
  pauseMs: number;
}

/** The next step after one of so many rows that took so long: as many as take about 10 ms. */
export function paceAfter(rows: number, tookMs: number): StepPace {
  const change = Math.min(MOST_GROWTH, Math.max(MOST_SHRINKING, STEP_MS / Math.max(tookMs, 1)));
  return {
    rows: Math.round(Math.min(MOST_ROWS, Math.max(LEAST_ROWS, rows * change))),
    pauseMs: Math.max(LEAST_PAUSE_MS, PAUSE_RATIO * tookMs),
  };
}
