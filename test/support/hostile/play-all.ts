import type { ClientSockets } from './client-sockets.js';
import type { HostileCase } from './hostile-case.js';
import { type Played, playOnce, startCaseServer } from './play-case.js';

export interface Times {
  /** Of cases that only their deadline ends. */
  shortDeadlineMs: number;
  /** Of the others. */
  longDeadlineMs: number;
  dripMs: number;
}

/** Plays each case once, side by side, as they mostly wait; those that flood do not delay those whose time is measured. */
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
  await Promise.all(cases.filter(({ ends }) => !ends).map(play));
  return results;
}
