import { setTimeout as delay } from 'node:timers/promises';

import type { OpenWebhookSender } from '../open-webhook-sender.js';
import type { HostileCase, Pace } from './answers/hostile-case.js';
import { faultsOfAttempt } from './faults-of-played.js';
import { attempt, type CaseServer, senderTo, startCaseServer } from './play-case.js';

/** Of cases that only their deadline ends. */
const SHORT_DEADLINE_MS = 1_000;
/** Of the others: the more often they are played the surer is a busy moment. */
const LONG_DEADLINE_MS = 10_000;
/** How late an attempt is, is judged where it is played once, beside few. */
const SLACK_MS = 5_000;
const PACE: Pace = { dripMs: 50 };
/** So many rounds of those that wait are under way, each begun a while after the one before: their beginnings take the processor. */
const WAITING_ROUNDS_AT_ONCE = 10;
/** So many attempts of the others. */
const OTHERS_AT_ONCE = 6;

export interface Repeats {
  /** Plays each case so many times. */
  play(rounds: number): Promise<void>;
  attempts(): number;
  /** What went wrong until now: `case: fault`, each once, with how often. */
  faults(): Map<string, number>;
  /** Ends what the senders keep. */
  closeKept(): void;
  stop(): Promise<void>;
}

/** A case, its server and its sender: the same over and over, as a process has one. */
interface Player {
  one: HostileCase;
  server: CaseServer;
  sender: OpenWebhookSender;
  deadlineMs: number;
}

export async function startRepeats(cases: readonly HostileCase[]): Promise<Repeats> {
  const players = await Promise.all(cases.map(startPlayer));
  const waiting = players.filter(({ one }) => one.ends);
  const others = players.filter(({ one }) => !one.ends);
  const faults = new Map<string, number>();
  let attempts = 0;
  const playOne = async ({ one, server, sender, deadlineMs }: Player, hookId: number) => {
    attempts += 1;
    const attempted = await attempt(server, sender, deadlineMs, hookId);
    for (const fault of faultsOfAttempt(one, attempted, SLACK_MS)) {
      const line = `${one.what}: ${fault}`;
      faults.set(line, (faults.get(line) ?? 0) + 1);
    }
  };
  /** Takes turns with the others like it, as long as there are any. */
  const playWaiting = async (turns: Iterator<number>, hookId: number) => {
    await delay((hookId * SHORT_DEADLINE_MS) / WAITING_ROUNDS_AT_ONCE);
    while (turns.next().done === false) {
      await Promise.all(waiting.map((player) => playOne(player, hookId)));
    }
  };
  const playOthers = async (turns: Iterable<Player>, hookId: number) => {
    for (const player of turns) await playOne(player, hookId);
  };
  return {
    play: async (rounds) => {
      const rests = Array.from({ length: rounds }, (_, round) => round).values();
      await atOnce(WAITING_ROUNDS_AT_ONCE, (n) => playWaiting(rests, n));
      const turns = Array.from({ length: rounds }, () => others)
        .flat()
        .values();
      await atOnce(OTHERS_AT_ONCE, (n) => playOthers(turns, n));
    },
    attempts: () => attempts,
    faults: () => faults,
    closeKept: () => {
      for (const { sender } of players) sender.kept.closeAll();
    },
    stop: async () => {
      for (const { sender } of players) sender.close();
      await Promise.all(players.map(({ server }) => server.stop()));
    },
  };
}

function atOnce(count: number, work: (n: number) => Promise<void>): Promise<unknown> {
  return Promise.all(Array.from({ length: count }, (_, n) => work(n)));
}

async function startPlayer(one: HostileCase): Promise<Player> {
  const deadlineMs = one.ends ? SHORT_DEADLINE_MS : LONG_DEADLINE_MS;
  const server = await startCaseServer(one, PACE);
  return { one, server, sender: senderTo(one, deadlineMs), deadlineMs };
}
