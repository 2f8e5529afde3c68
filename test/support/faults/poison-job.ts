import path from 'node:path';
import { pathToFileURL } from 'node:url';

import { freePort, REPOSITORY } from '../ghost-processes.js';
import type { ProofRow } from '../proof-world.js';
import { waitUntil } from '../wait-until.js';
import { type Fault, type FaultWorld, startFaultWorld } from './fault-world.js';

const PRELOAD = pathToFileURL(path.join(REPOSITORY, 'test/support/faults/dies-at-port.mjs'));
const NEIGHBOURS = 100;
const LEASE_MS = 1_000;
/** Neighbours are in flight when the process dies, as the poison is dialed at once. */
const ANSWER_MS = 100;
const CLAIMS = 5;
const SETTLE_WITHIN_MS = 90_000;

interface Supervisor {
  deaths: () => number;
  stop: () => void;
}

/** A job that kills each process that sends it, among others that are claimed with it. */
export const poisonJob: Fault = {
  name: 'a poison job among 100 neighbours',
  async *run(stops) {
    const world = await startFaultWorld(stops);
    const { seed, calls } = world;
    const deadlyPort = await freePort();
    const neighbours = await world.hooks(NEIGHBOURS);
    const [deadly = 0] = await world.hooks(1, `http://127.0.0.1:${deadlyPort}/`);
    calls.answerAfter(ANSWER_MS);
    const [poison] = await seed.webhooks([deadly, ...neighbours]);
    const supervisor = supervise(world, {
      GHOST_LEASE_MS: String(LEASE_MS),
      TEST_DEADLY_PORT: String(deadlyPort),
      NODE_OPTIONS: `--import=${PRELOAD.href}`,
    });
    try {
      yield* watch(world, poison, neighbours, supervisor);
    } finally {
      supervisor.stop();
    }
  },
};

async function* watch(
  world: FaultWorld,
  poison: string | undefined,
  neighbours: readonly number[],
  supervisor: Supervisor,
): AsyncGenerator<ProofRow> {
  const { seed, calls } = world;
  await waitUntil(async () => (await world.tally()).pending === 0, {
    timeoutMs: SETTLE_WITHIN_MS,
    everyMs: 100,
    what: () => `every job to end (${supervisor.deaths()} deaths)`,
  });
  const jobs = await seed.jobs();
  const poisoned = jobs.find(({ id }) => id === poison);
  const others = jobs.filter(({ id }) => id !== poison);
  const history = (await seed.attempts()).filter(({ jobId }) => jobId === poison);
  yield {
    what: `${poisonJob.name}: its end, reason, charged; lost leases in its history`,
    figure: `${poisoned?.status}, ${poisoned?.lastError}, ${poisoned?.attempts}; ${history.length}`,
    bound: `dead, worker_died, 0; ${CLAIMS}`,
    ok:
      poisoned?.status === 'dead' &&
      poisoned.lastError === 'worker_died' &&
      poisoned.attempts === 0 &&
      history.length === CLAIMS &&
      history.every(({ outcome }) => outcome === 'abandoned'),
  };
  yield {
    what: 'neighbours delivered, most charged; processes that died',
    figure: `${others.filter(({ status }) => status === 'delivered').length}, ${Math.max(...others.map(({ attempts }) => attempts))}; ${supervisor.deaths()}`,
    bound: `${NEIGHBOURS}, 1; ${CLAIMS}`,
    ok:
      others.every(({ status, attempts }) => status === 'delivered' && attempts === 1) &&
      supervisor.deaths() === CLAIMS,
  };
  const after = performance.now();
  const seen = calls.receiver.requests().length;
  await seed.webhooks(neighbours);
  await calls.receiver.waitForRequests(seen + NEIGHBOURS, SETTLE_WITHIN_MS);
  const tookMs = Math.round(performance.now() - after);
  yield {
    what: 'what comes after it, to all neighbours',
    figure: `${tookMs} ms`,
    bound: '≤ 5,000 ms',
    ok: tookMs <= 5_000,
  };
}

/** Starts the process again whenever it dies, as a container's host does. */
function supervise(world: FaultWorld, env: Readonly<Record<string, string>>): Supervisor {
  const state = { deaths: 0, stopped: false };
  const run = async () => {
    while (!state.stopped) {
      // It may die before it says that it has started.
      const worker = await world.deliver(env).catch(() => undefined);
      await worker?.exited;
      if (!state.stopped) state.deaths += 1;
    }
  };
  void run();
  return {
    deaths: () => state.deaths,
    // Told before the worker is stopped, so that its end is not one more death.
    stop: () => {
      state.stopped = true;
    },
  };
}
