import { waitUntil } from '../wait-until.js';
import { type Fault, nothingLost, startCalls, startFaultWorld } from './fault-world.js';

const HOSTS = ['127.0.0.2', '127.0.0.3', '127.0.0.4', '127.0.0.5'];
const LANES_A_HOST = 50;
const IN_FLIGHT = HOSTS.length * LANES_A_HOST;
const JOBS_A_LANE = 10;
const JOBS = IN_FLIGHT * JOBS_A_LANE;
const CONNECTIONS = 5;
const SETTLE_WITHIN_MS = 60_000;

/** None is held while something is sent, so five serve any number of calls. */
export const fewConnections: Fault = {
  name: '5 connections with 200 in flight',
  async *run(stops) {
    const world = await startFaultWorld(stops);
    const { seed } = world;
    const hosts = await Promise.all(HOSTS.map((host) => startCalls(stops, host)));
    const hooks: number[] = [];
    for (const { receiver } of hosts)
      hooks.push(...(await world.hooks(LANES_A_HOST, receiver.url)));
    for (const calls of hosts) calls.hold();
    // One owner has a quarter of a process at most, so four times as many make 200 calls.
    await world.deliver({
      GHOST_POOL_SIZE: String(CONNECTIONS),
      GHOST_CONCURRENCY: String(IN_FLIGHT * 4),
    });
    for (let made = 0; made < JOBS_A_LANE; made += 1) await seed.webhooks(hooks);
    const open = () => hosts.reduce((sum, calls) => sum + calls.open(), 0);
    await waitUntil(() => open() === IN_FLIGHT, { what: () => `200 in flight (${open()})` });
    const { rows } = await seed.pool.query<{ open: number; busy: number }>(
      `SELECT count(*)::int AS open, count(*) FILTER (WHERE state <> 'idle')::int AS busy
       FROM pg_stat_activity WHERE application_name = 'ghost delivery'`,
    );
    const found = rows[0] ?? { open: 0, busy: 0 };
    for (const calls of hosts) calls.answer();
    const startedAt = performance.now();
    await world.settled(SETTLE_WITHIN_MS);
    const perSecond = Math.round((JOBS / (performance.now() - startedAt)) * 1000);
    yield nothingLost(this.name, JOBS, await world.tally());
    yield {
      what: 'connections then, of them in use; jobs called twice',
      figure: `${found.open}, ${found.busy}; ${hosts.reduce((sum, calls) => sum + calls.repeated(), 0)}`,
      bound: `≤ ${CONNECTIONS}, ≤ 1; 0`,
      ok:
        found.open <= CONNECTIONS &&
        found.busy <= 1 &&
        hosts.every((calls) => calls.repeated() === 0),
    };
    yield {
      what: 'jobs a second with them',
      figure: String(perSecond),
      bound: '≥ 50',
      ok: perSecond >= 50,
    };
  },
};
