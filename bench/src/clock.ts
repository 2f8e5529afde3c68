/** Milliseconds since the machine started: one clock for all of its processes. */
export function nowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/**
 * What `nowMs` is ahead of the wall clock, read as that moves on to its next millisecond. `performance.timeOrigin` does
 * not tell it: of the two clocks that a process notes as it starts, one may be read milliseconds after the other.
 */
export function aheadOfWallClockMs(): number {
  const before = Date.now();
  let wall = before;
  let now = nowMs();
  while (wall === before) {
    now = nowMs();
    wall = Date.now();
  }
  return now - wall;
}
