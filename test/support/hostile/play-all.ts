import type { ClientSockets } from './client-sockets.js';
import type { HostileCase } from './answers/hostile-case.js';
import { type Played, playOnce, startCaseServer } from './play-case.js';

export interface Times {
  /** Of cases that only their deadline ends. */
  shortDeadlineMs: number;
  /** Of the others. */
  longDeadlineMs: number;
  dripMs: number;
}

/** Of the cases that do not wait, so many at once: they are to show their own time, and not each other's. */
const AT_ONCE = 6;

/** Plays each case once. Those that wait for their deadline do it side by side, before the others, some of which take the processor. */
export async function playAll(
  cases: readonly HostileCase[],
  sockets: ClientSockets,
  { shortDeadlineMs, longDeadlineMs, dripMs }: Times,
): Promise<Map<HostileCase, Played>> {
  const results = new Map<HostileCase, Played>();
  const play = async (one: HostileCase) => {
    const server = await startCaseServer(one, { dripMs });
    try {
      const deadlineMs = one.ends ? shortDeadlineMs : longDeadlineMs;
      results.set(one, await playOnce(server, deadlineMs, sockets));
    } finally {
      await server.stop();
    }
  };
  await Promise.all(cases.filter(({ ends }) => ends).map(play));
  const others = cases.filter(({ ends }) => !ends);
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let one = others.shift(); one; one = others.shift()) await play(one);
    }),
  );
  return results;
}
