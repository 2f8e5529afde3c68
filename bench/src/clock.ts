/** Milliseconds since the machine started: one clock for all of its processes. */
export function nowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

const CLOSE_MS = 0.1;
const TICKS = 100;

/**
 * What `nowMs` is ahead of the wall clock, by a tick of that which was seen closely: whoever is delayed between the two
 * readings waits for the next one. `performance.timeOrigin` does not tell it, as a process that is delayed between the two
 * clocks that it notes at its start is off by as much.
 */
export function aheadOfWallClockMs(): number {
  let best = { ahead: 0, within: Number.POSITIVE_INFINITY };
  let wall = Date.now();
  let since = nowMs();
  for (let ticks = 0; ticks < TICKS && best.within > CLOSE_MS; ) {
    const asked = nowMs();
    const next = Date.now();
    const now = nowMs();
    if (next !== wall) {
      ticks += 1;
      if (now - since < best.within) best = { ahead: now - next, within: now - since };
    }
    wall = next;
    since = asked;
  }
  return best.ahead;
}
