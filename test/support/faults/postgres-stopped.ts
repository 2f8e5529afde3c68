import { setTimeout as delay } from 'node:timers/promises';

import { waitUntil } from '../wait-until.js';
import { type Fault, logged, nothingLost, startFaultWorld } from './fault-world.js';

const LANES = 50;
const JOBS_A_LANE = 21;
const JOBS = LANES * JOBS_A_LANE;
/** The calls in flight are answered in the middle of the outage, so their outcomes have to be kept. */
const ANSWER_AFTER_MS = 1_000;
const SETTLE_WITHIN_MS = 60_000;

/** Postgres stops with 1,000 jobs queued and 50 in flight, and comes back. */
export function postgresStopped(forMs: number): Fault {
  const name = `Postgres stopped ${forMs / 1000} s`;
  return {
    name,
    async *run(stops) {
      const world = await startFaultWorld(stops);
      const { seed, calls, database } = world;
      const hooks = await world.hooks(LANES);
      calls.hold();
      const worker = await world.deliver();
      for (let made = 0; made < JOBS_A_LANE; made += 1) await seed.webhooks(hooks);
      await waitUntil(() => calls.open() === LANES, { what: 'fifty calls in flight' });
      await database.stop();
      await delay(ANSWER_AFTER_MS);
      calls.answer();
      await delay(forMs - ANSWER_AFTER_MS);
      await database.start();
      const backAt = performance.now();
      await world.settled(SETTLE_WITHIN_MS);
      const tookMs = Math.round(performance.now() - backAt);
      yield nothingLost(name, JOBS, await world.tally());
      yield {
        what: `${name}: jobs called twice, all ended after its return`,
        figure: `${calls.repeated()}, ${tookMs} ms`,
        bound: '0, ≤ 30,000 ms',
        ok: calls.repeated() === 0 && tookMs <= 30_000,
      };
      yield {
        what: `${name}: said once that it is down, and that it is back`,
        figure: `${logged(worker, 'database.down').length}, ${logged(worker, 'database.back').length}`,
        bound: '1, 1',
        ok: ['database.down', 'database.back'].every((event) => logged(worker, event).length === 1),
      };
    },
  };
}
