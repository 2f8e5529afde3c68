import type { LaneState } from '../queue-states.js';

/** A unit is a minute: what counts in seconds (the breaker's pause) ends within one. */
export const UNIT_S = 60;
const HOUR_UNITS = 60;
const FAILURES_OPEN_BREAKER = 5;
/** A run takes real time too, in which a pause may end. */
const DRIFT_S = 20;

export interface ModelLane {
  /** A lane is made by its first job, and goes with the hook that it was of. */
  there: boolean;
  held: boolean;
  /** Its own limit, where it has one. */
  limit: number | null;
  standing: LaneState['standing'];
  earned: number;
  failures: number;
  lastSuccessAt: number | null;
  /** The breaker's pauses are random: it rests until the one for sure, until the other perhaps. */
  rests: { least: number; most: number };
  /** A claim that meets a suspect, or a success long ago, changes what the lane may have, if it looks there. */
  loose: boolean;
  /** Whether a failure fell into the breaker's pause, where it does not count, is not known. */
  doubt: boolean;
}

/** What the outcomes of one settle say of a lane. */
export interface LaneEffects {
  successes: number;
  faults: number;
  timeouts: number;
  rest: number;
}

export function newLane(proven: boolean, earned: number): ModelLane {
  return {
    there: proven,
    held: false,
    limit: null,
    standing: proven ? 'proven' : 'slow',
    earned: proven ? earned : 1,
    failures: 0,
    lastSuccessAt: proven ? 0 : null,
    rests: { least: 0, most: 0 },
    loose: false,
    doubt: false,
  };
}

export function isStale(lane: ModelLane, now: number): boolean {
  return lane.lastSuccessAt !== null && now - lane.lastSuccessAt >= HOUR_UNITS;
}

/** How many jobs a lane may have in flight, whether or not it is held back for a suspect. */
export function slotsAtMost(lane: ModelLane, now: number, byDefault: number): number {
  const probed = lane.failures >= FAILURES_OPEN_BREAKER || isStale(lane, now);
  return probed ? 1 : Math.min(lane.earned, lane.limit ?? byDefault);
}

/** What a settle does to a lane: slow start and breaker (docs/decisions/0037). */
export function judge(lane: ModelLane, effects: LaneEffects, now: number, byDefault: number): void {
  const { successes, faults, timeouts, rest } = effects;
  const wasOpen = lane.failures >= FAILURES_OPEN_BREAKER;
  const before = lane.failures;
  const mayRest = lane.rests.most > now;
  const restsSurely = lane.rests.least > now;
  if (successes > 0) lane.failures = 0;
  else if (faults > 0 && !wasOpen) lane.failures = Math.min(FAILURES_OPEN_BREAKER, before + faults);
  else if (faults > 0 && mayRest && !restsSurely) lane.doubt = true;
  else if (faults > 0 && !mayRest) lane.failures = before + 1;
  const isOpen = lane.failures >= FAILURES_OPEN_BREAKER;

  if (lane.standing !== 'suspect') {
    if (successes > 0) lane.standing = 'proven';
    else if (timeouts > 0 || isOpen) lane.standing = 'slow';
  }
  const cap = lane.limit ?? byDefault;
  if (successes === 0 && (timeouts > 0 || isOpen)) lane.earned = 1;
  else if (timeouts > 0 || rest > 0) lane.earned = Math.max(1, Math.floor(lane.earned / 2));
  else lane.earned = Math.max(lane.earned, Math.min(cap, lane.earned + successes));

  const probes = faults > 0 && isOpen;
  if (successes > 0 && wasOpen && rest === 0) lane.rests = { least: 0, most: 0 };
  if (rest > 0) extendRest(lane, now + rest, now + rest);
  if (probes) {
    const { least } = pauseAfter(lane.failures);
    const { most } = pauseAfter(lane.failures + (lane.doubt ? 1 : 0));
    extendRest(lane, now + Math.max(0, least - DRIFT_S / UNIT_S), now + most);
  }
  if (successes > 0) lane.lastSuccessAt = now;
}

function pauseAfter(failures: number): { least: number; most: number } {
  const seconds = Math.min(3600, 10 * 2 ** Math.min(failures - FAILURES_OPEN_BREAKER, 10));
  return { least: (seconds * 0.75) / UNIT_S, most: (seconds * 1.25) / UNIT_S };
}

function extendRest(lane: ModelLane, least: number, most: number): void {
  lane.rests = { least: Math.max(lane.rests.least, least), most: Math.max(lane.rests.most, most) };
}
