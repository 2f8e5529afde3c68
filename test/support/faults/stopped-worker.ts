import { waitUntil } from '../wait-until.js';
import { type Fault, nothingLost, startFaultWorld } from './fault-world.js';

const LANES = 50;
const GRACE_MS = 4_000;
const SETTLE_WITHIN_MS = 20_000;

/** A deploy while 50 receivers hang. */
export const stoppedWorker: Fault = {
  name: 'SIGTERM with 50 hung calls',
  async *run(stops) {
    const world = await startFaultWorld(stops);
    const { seed, calls } = world;
    const hooks = await world.hooks(LANES);
    calls.hold();
    const worker = await world.deliver({
      GHOST_SHUTDOWN_GRACE_MS: String(GRACE_MS),
      GHOST_WEBHOOK_DEADLINE_MS: '60000',
    });
    await seed.webhooks(hooks);
    await waitUntil(() => calls.open() === LANES, { what: 'fifty calls in flight' });
    const startedAt = performance.now();
    const { code } = await worker.stop();
    const tookMs = Math.round(performance.now() - startedAt);
    const { released, pending } = await world.tally();
    yield {
      what: `${this.name}: exit code, after; given back at once`,
      figure: `${code}, ${tookMs} ms; ${released} of ${pending}`,
      bound: `0, ≤ ${GRACE_MS} ms; ${LANES} of ${LANES}`,
      ok: code === 0 && tookMs <= GRACE_MS && released === LANES && pending === LANES,
    };
    calls.answer();
    await world.deliver();
    await world.settled(SETTLE_WITHIN_MS);
    yield nothingLost(`${this.name}, then a new process`, LANES, await world.tally());
  },
};
