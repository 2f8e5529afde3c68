import { waitUntil } from '../wait-until.js';
import { type Fault, nothingLost, startFaultWorld } from './fault-world.js';

const LANES = 50;
const LEASE_MS = 5_000;
const LEASE = { GHOST_LEASE_MS: String(LEASE_MS) };

/** One of two workers is killed with 50 calls in flight. */
export const killedWorker: Fault = {
  name: 'worker killed (SIGKILL)',
  async *run(stops) {
    const world = await startFaultWorld(stops);
    const { seed, calls } = world;
    const hooks = await world.hooks(LANES);
    calls.hold();
    const killed = await world.deliver(LEASE);
    await seed.webhooks(hooks);
    await waitUntil(() => calls.open() === LANES, { what: 'fifty calls in flight' });
    await world.deliver(LEASE);
    await killed.kill9();
    const killedAt = performance.now();
    calls.answer();
    await world.settled(LEASE_MS * 4);
    const tookMs = Math.round(performance.now() - killedAt);
    yield nothingLost(this.name, LANES, await world.tally());
    yield {
      what: `${this.name}: its jobs ran elsewhere, lease ${LEASE_MS / 1000} s`,
      figure: `after ${tookMs} ms`,
      bound: `≤ ${LEASE_MS * 2} ms`,
      ok: tookMs <= LEASE_MS * 2,
    };
  },
};
