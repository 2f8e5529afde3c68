import type { OpenWebhookSender } from '../open-webhook-sender.js';
import type { HostileCase, Pace } from './answers/hostile-case.js';
import { faultsOfAttempt } from './faults-of-played.js';
import { attempt, type CaseServer, senderTo, startCaseServer } from './play-case.js';

/** Of cases that only their deadline ends. */
const SHORT_DEADLINE_MS = 600;
/** Of the others: the more often they are played the surer is a busy moment. */
const LONG_DEADLINE_MS = 10_000;
/** How late an attempt is, is judged where it is played once, beside few. */
const SLACK_MS = 5_000;
const PACE: Pace = { dripMs: 50 };
/** So many rounds of those that wait side by side, and so many attempts of the others. */
const WAITING_ROUNDS_AT_ONCE = 20;
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
  const playOne = async ({ one, server, sender, deadlineMs }: Player) => {
    attempts += 1;
    for (const fault of faultsOfAttempt(one, await attempt(server, sender, deadlineMs), SLACK_MS)) {
      const line = `${one.what}: ${fault}`;
      faults.set(line, (faults.get(line) ?? 0) + 1);
    }
  };
  return {
    play: async (rounds) => {
      for (let played = 0; played < rounds; played += WAITING_ROUNDS_AT_ONCE) {
        const atOnce = Math.min(WAITING_ROUNDS_AT_ONCE, rounds - played);
        await Promise.all(
          waiting.flatMap((one) => Array.from({ length: atOnce }, () => playOne(one))),
        );
      }
      const turns = Array.from({ length: rounds }, () => others)
        .flat()
        .values();
      // They share the turns: each takes the next.
      const playTurns = async () => {
        for (const player of turns) await playOne(player);
      };
      await Promise.all(Array.from({ length: OTHERS_AT_ONCE }, playTurns));
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

async function startPlayer(one: HostileCase): Promise<Player> {
  const deadlineMs = one.ends ? SHORT_DEADLINE_MS : LONG_DEADLINE_MS;
  const server = await startCaseServer(one, PACE);
  return { one, server, sender: senderTo(one, deadlineMs), deadlineMs };
}
