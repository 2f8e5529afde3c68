import { setTimeout as delay } from 'node:timers/promises';

import { type Fault, logged, nothingLost, startFaultWorld } from './fault-world.js';

const LANES = 50;
const JOBS_A_LANE = 40;
const JOBS = LANES * JOBS_A_LANE;
const TIMES = 5;
const BETWEEN_MS = 400;
const ANSWER_MS = 50;
const SETTLE_WITHIN_MS = 60_000;

/** Each connection of the process is cut by the server, again and again under load. */
export const backendsTerminated: Fault = {
  name: 'all backends terminated',
  async *run(stops) {
    const world = await startFaultWorld(stops);
    const { seed, calls } = world;
    const hooks = await world.hooks(LANES);
    calls.answerAfter(ANSWER_MS);
    const worker = await world.deliver();
    for (let made = 0; made < JOBS_A_LANE; made += 1) await seed.webhooks(hooks);
    let cut = 0;
    for (let time = 0; time < TIMES; time += 1) {
      await delay(BETWEEN_MS);
      const { rowCount } = await seed.pool.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'ghost delivery%'`,
      );
      cut += rowCount ?? 0;
    }
    const left = (await world.tally()).pending;
    await world.settled(SETTLE_WITHIN_MS);
    yield nothingLost(`${TIMES} times ${this.name}`, JOBS, await world.tally());
    yield {
      what: 'connections cut, jobs left then, called twice, process crashed',
      figure: `${cut}, ${left}, ${calls.repeated()}, ${logged(worker, 'delivery.crashed').length}`,
      bound: `≥ ${TIMES * 2}, ≥ 1, 0, 0`,
      ok:
        cut >= TIMES * 2 &&
        left > 0 &&
        calls.repeated() === 0 &&
        logged(worker, 'delivery.crashed').length === 0,
    };
  },
};
