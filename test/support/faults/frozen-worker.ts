import { startTcpProxy } from '../tcp-proxy.js';
import { waitUntil } from '../wait-until.js';
import { type Fault, logged, nothingLost, startFaultWorld, startWorker } from './fault-world.js';

const LANES = 20;
/** Their outcome is known to the worker, and cannot be written before it is frozen. */
const ANSWERED = 10;
const LEASE = { GHOST_LEASE_MS: '2000' };
/** Long enough for the clock gap to be certain: 4 s, and a tick. */
const FROZEN_MS = 7_000;
const SETTLE_WITHIN_MS = 30_000;

/**
 * A worker is stopped (SIGSTOP) past its leases with calls in flight and with outcomes in hand, another
 * one takes over, and the first goes on. Its connections died meanwhile: a network forgets them.
 */
export const frozenWorker: Fault = {
  name: 'worker frozen past its leases',
  async *run(stops) {
    const world = await startFaultWorld(stops);
    const { seed, calls, database } = world;
    const proxy = await startTcpProxy({ targetPort: Number(new URL(database.url).port) });
    stops.add(() => proxy.stop());
    const hooks = await world.hooks(LANES);
    calls.hold();
    const frozen = await startWorker(stops, proxy.urlFor(database.url), LEASE);
    await seed.webhooks(hooks);
    await waitUntil(() => calls.open() === LANES, { what: 'all calls in flight' });
    // Nothing more of it gets through, for ever: the host forgot these connections.
    for (const connection of proxy.connections()) connection.blackHole();
    calls.answer(ANSWERED);
    await waitUntil(() => calls.open() === LANES - ANSWERED, { what: 'some to be answered' });
    await seed.pool.query('SELECT pg_sleep(0.1)');
    frozen.child.kill('SIGSTOP');
    const frozenAt = performance.now();
    calls.answer();
    const other = await world.deliver(LEASE);
    await world.settled(SETTLE_WITHIN_MS);
    const takenOverMs = Math.round(performance.now() - frozenAt);
    const before = await world.tally();
    await waitUntil(() => performance.now() - frozenAt > FROZEN_MS, {
      timeoutMs: FROZEN_MS * 2,
      what: 'the freeze to last',
    });
    await other.stop();
    frozen.child.kill('SIGCONT');
    const attempts = () => logged(frozen, 'delivery.attempted');
    await waitUntil(() => attempts().length === LANES, {
      timeoutMs: SETTLE_WITHIN_MS,
      what: () => `the late results (${attempts().length})`,
    });
    // An answer that came while it was frozen may be read before the end of the lease is noticed: it is fenced too.
    const fenced = attempts().filter((line) => line['fenced'] === true).length;
    const brokenOff = attempts().filter((line) => line['reason'] === 'lease_lost').length;
    yield nothingLost(this.name, LANES, await world.tally());
    yield {
      what: 'taken over by another; late results fenced, calls broken off',
      figure: `${before.delivered} in ${takenOverMs} ms; ${fenced}, ${brokenOff}`,
      bound: `${LANES}; ≥ ${ANSWERED}, the rest`,
      ok: before.delivered === LANES && fenced >= ANSWERED && fenced + brokenOff === LANES,
    };
    const again = performance.now();
    const seen = calls.receiver.requests().length;
    await seed.webhooks(hooks.slice(0, 1));
    await calls.receiver.waitForRequests(seen + 1, SETTLE_WITHIN_MS);
    const tookMs = Math.round(performance.now() - again);
    const gaps = logged(frozen, 'delivery.clock_gap').length;
    yield {
      what: 'thawed with dead connections: clock gap noticed, next job',
      figure: `${gaps}, ${tookMs} ms`,
      bound: '1, ≤ 1,000 ms',
      ok: gaps === 1 && tookMs <= 1_000,
    };
  },
};
