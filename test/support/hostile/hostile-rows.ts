import { collectedMemory, type HeldMemory } from '../collected-memory.js';
import { type ClientSockets, watchClientSockets } from './client-sockets.js';
import { faultsOf } from './faults-of-played.js';
import type { HostileCase } from './answers/hostile-case.js';
import { HOSTILE_CASES } from './answers/hostile-cases.js';
import { onRequest } from './on-request.js';
import { playAll } from './play-all.js';
import { attempt, senderTo, startCaseServer } from './play-case.js';
import { startRepeats } from './play-repeats.js';
import { openWebhookSender } from '../open-webhook-sender.js';
import { progress } from '../progress.js';
import type { ProofRow } from '../proof-world.js';
import { startRawServer } from '../raw-server.js';
import { type Stops, withStops } from '../stops.js';
import { waitUntil } from '../wait-until.js';

/** As in production; a byte every 2 s. */
const TIMES = { shortDeadlineMs: 10_000, longDeadlineMs: 10_000, dripMs: 2_000 };
const SLACK_MS = 250;
/** Something else on the machine may take a moment; a fault is there again. */
const TRIES = 2;

/** A few honest ones take 1 ms each; a worker of two processors has some hundred attempts side by side. */
const CPU_BOUND_MS = 25;
const CPU_LOOKS = 3;

const ROUNDS = 1_000;
const ROUNDS_BETWEEN = 100;
/** Caches, compiled code and the allocator's arenas have grown to what they need by then. */
const WARM_ROUNDS = 300;
const MB = 1024 * 1024;
/** 40 bytes for each attempt after the warm rounds: what a leak of one small object takes. */
const HELD_MORE_BOUND = 4 * MB;
/** Pages that the allocator keeps move by some MB from one look to the next. */
const RESIDENT_RATIO_BOUND = 1.3;

const KEPT_BOUND_MS = 5_500;
const ANSWER = 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n';

const megabytes = (bytes: number) => `${(bytes / MB).toFixed(1)} MB`;

/** All cases once by the numbers of production, then a thousand times. */
export function hostileRows(): AsyncGenerator<ProofRow> {
  return withStops(async function* (stops) {
    const sockets = watchClientSockets();
    stops.add(() => sockets.stop());
    yield* once(sockets);
    yield* cheap();
    yield* keptBriefly(stops);
    yield* again(stops, sockets);
  });
}

async function* once(sockets: ClientSockets): AsyncGenerator<ProofRow> {
  let seen = await playAndJudge(sockets);
  for (let tries = 1; tries < TRIES && seen.wrong.length > 0; tries += 1) {
    for (const line of seen.wrong) progress(line);
    seen = await playAndJudge(sockets);
  }
  for (const line of seen.wrong) progress(line);
  yield {
    what: 'hostile answers, a byte every 2 s, that went wrong in any way',
    figure: `${seen.wrong.length} of ${seen.played}`,
    bound: '0',
    ok: seen.played > 0 && seen.wrong.length === 0,
  };
  yield {
    what: 'the latest end after the deadline of 10 s',
    figure: `${seen.latestMs.toFixed(0)} ms`,
    bound: `≤ ${SLACK_MS} ms`,
    ok: seen.latestMs <= SLACK_MS,
  };
}

async function playAndJudge(sockets: ClientSockets) {
  const results = Array.from(await playAll(HOSTILE_CASES, sockets, TIMES));
  const wrong = results.flatMap(([one, played]) => {
    const faults = faultsOf(one, played, SLACK_MS);
    return faults.length > 0 ? [`${one.what}: ${faults.join('; ')}`] : [];
  });
  const latestMs = Math.max(...results.map(([, played]) => played.tookMs - played.deadlineMs));
  return { wrong, latestMs, played: results.length };
}

/** What does not wait must not take the processor instead, from the attempts beside it. */
async function* cheap(): AsyncGenerator<ProofRow> {
  let most = { what: 'none', cpuMs: 0 };
  for (const one of HOSTILE_CASES.filter(({ ends }) => !ends)) {
    const cpuMs = await cpuOf(one);
    if (cpuMs > most.cpuMs) most = { what: one.what, cpuMs };
  }
  yield {
    what: `CPU that an attempt takes, server included: most for "${most.what}"`,
    figure: `${most.cpuMs.toFixed(1)} ms`,
    bound: `≤ ${CPU_BOUND_MS} ms`,
    ok: most.cpuMs > 0 && most.cpuMs <= CPU_BOUND_MS,
  };
}

/** The least of some attempts, after a first. */
async function cpuOf(one: HostileCase): Promise<number> {
  const deadlineMs = TIMES.longDeadlineMs;
  const server = await startCaseServer(one, TIMES);
  const sender = senderTo(one, deadlineMs);
  const taken: number[] = [];
  for (let n = 0; n <= CPU_LOOKS; n += 1) {
    const before = process.cpuUsage();
    await attempt(server, sender, deadlineMs);
    const { user, system } = process.cpuUsage(before);
    if (n > 0) taken.push((user + system) / 1_000);
  }
  sender.close();
  await server.stop();
  return Math.min(...taken);
}

async function* keptBriefly(stops: Stops): AsyncGenerator<ProofRow> {
  // It never closes by itself.
  const server = await startRawServer((socket) => onRequest(socket, () => socket.write(ANSWER)));
  stops.add(() => server.stop());
  const sockets = watchClientSockets();
  stops.add(() => sockets.stop());
  const sender = openWebhookSender();
  stops.add(() => sender.close());
  await sender.send(`http://127.0.0.1:${server.port}/`);
  const startedAt = performance.now();
  await waitUntil(() => sockets.open() === 0, {
    what: 'the end of a kept connection',
    timeoutMs: 2 * KEPT_BOUND_MS,
  });
  const keptMs = performance.now() - startedAt;
  yield {
    what: 'a connection that is not used again is kept',
    figure: `${(keptMs / 1000).toFixed(1)} s`,
    bound: `≤ ${KEPT_BOUND_MS / 1000} s`,
    ok: keptMs <= KEPT_BOUND_MS,
  };
}

async function* again(stops: Stops, sockets: ClientSockets): AsyncGenerator<ProofRow> {
  const repeats = await startRepeats(HOSTILE_CASES);
  stops.add(() => repeats.stop());
  const looks: HeldMemory[] = [];
  const look = async () => {
    repeats.closeKept();
    await waitUntil(() => sockets.open() === 0, { what: 'the end of all sockets' }).catch(
      () => undefined,
    );
    return collectedMemory();
  };
  for (let rounds = ROUNDS_BETWEEN; rounds <= ROUNDS; rounds += ROUNDS_BETWEEN) {
    await repeats.play(ROUNDS_BETWEEN);
    const seen = await look();
    if (rounds >= WARM_ROUNDS) looks.push(seen);
    progress(
      `${rounds} rounds: ${megabytes(seen.held)} held, ${megabytes(seen.resident)} resident, ${sockets.open()} sockets`,
    );
  }
  for (const [fault, times] of repeats.faults()) progress(`${times} × ${fault}`);
  const wrong = Array.from(repeats.faults().values()).reduce((sum, times) => sum + times, 0);
  yield {
    what: `${ROUNDS} times each: faults`,
    figure: `${wrong} of ${repeats.attempts()}`,
    bound: '0',
    ok: wrong === 0 && repeats.attempts() >= ROUNDS * HOSTILE_CASES.length,
  };
  yield {
    what: 'the same: sockets left',
    figure: String(sockets.open()),
    bound: '0',
    ok: sockets.open() === 0,
  };
  yield* flat(looks);
}

/** The least of three looks, early and late: what is held is in each of them, what moves is not. */
function* flat(looks: readonly HeldMemory[]): Generator<ProofRow> {
  const least = (few: readonly HeldMemory[], of: keyof HeldMemory) =>
    Math.min(...few.map((seen) => seen[of]));
  const [early, late] = [looks.slice(0, 3), looks.slice(-3)];
  const more = least(late, 'held') - least(early, 'held');
  yield {
    what: `held after them, more than after ${WARM_ROUNDS} (${megabytes(least(early, 'held'))})`,
    figure: megabytes(more),
    bound: `≤ ${megabytes(HELD_MORE_BOUND)}`,
    ok: more <= HELD_MORE_BOUND,
  };
  const ratio = least(late, 'resident') / least(early, 'resident');
  yield {
    what: `resident after them, to that after ${WARM_ROUNDS} (${megabytes(least(early, 'resident'))})`,
    figure: `${ratio.toFixed(2)} ×`,
    bound: `≤ ${RESIDENT_RATIO_BOUND} ×`,
    ok: ratio <= RESIDENT_RATIO_BOUND,
  };
}
