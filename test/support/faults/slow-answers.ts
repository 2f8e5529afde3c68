import { type Fault, nothingLost, startFaultWorld } from './fault-world.js';

const LANES = 50;
const LEASE_MS = 2_000;
const DEADLINE_MS = 10_000;
const ANSWER_MS = 9_000;
const SETTLE_WITHIN_MS = 30_000;

/** Each answer takes four and a half leases; two workers wait for the first lease that ends. */
export const slowAnswers: Fault = {
  name: '50 answers under the deadline, over the lease',
  async *run(stops) {
    const world = await startFaultWorld(stops);
    const { seed, calls } = world;
    const hooks = await world.hooks(LANES);
    calls.answerAfter(ANSWER_MS);
    const settings = {
      GHOST_LEASE_MS: String(LEASE_MS),
      GHOST_WEBHOOK_DEADLINE_MS: String(DEADLINE_MS),
    };
    await Promise.all([world.deliver(settings), world.deliver(settings)]);
    await seed.webhooks(hooks);
    await world.settled(SETTLE_WITHIN_MS);
    yield nothingLost(this.name, LANES, await world.tally());
    yield {
      what: `answers after ${ANSWER_MS} ms, lease ${LEASE_MS} ms: most calls of a job at once, in all`,
      figure: `${calls.mostAtOnce()}, ${calls.receiver.requests().length}`,
      bound: `1, ${LANES}`,
      ok: calls.mostAtOnce() === 1 && calls.receiver.requests().length === LANES,
    };
  },
};
