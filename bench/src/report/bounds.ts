// What ours must reach in one run, and why. `npm run bench` fails when it does not.

export const BOUNDS = {
  /** Of the jobs/s of the best peer that also keeps its jobs in Postgres: a queue that is not clearly faster is no reason to write one. The aim is 2. */
  throughputToBestPeer: 1.5,
  /** Of what our own client sends without any database: more of a core than this must not go into queueing. */
  throughputToRaw: 0.45,
  /** Of the best Postgres peer's p50 and p99 at 20 jobs/s: batching must not be paid for with waiting. */
  lightToBestPeer: 1.2,
} as const;
