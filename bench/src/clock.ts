/** Milliseconds since the machine started: one clock for all of its processes. */
export function nowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
