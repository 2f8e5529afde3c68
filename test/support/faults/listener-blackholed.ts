import { setTimeout as delay } from 'node:timers/promises';

import { startTcpProxy } from '../tcp-proxy.js';
import { waitUntil } from '../wait-until.js';
import { type Fault, logged, nothingLost, startFaultWorld } from './fault-world.js';

const TIMES = 3;
/** A look of the new connection must be over: it would find the job. */
const REST_MS = 1_000;
const DELIVERED_WITHIN_MS = 5_000;

/** The LISTEN connection stays open and carries nothing, while its process is idle; nobody is told. */
export const listenerBlackholed: Fault = {
  name: 'listener blackholed, heartbeat 2 s',
  async *run(stops) {
    const world = await startFaultWorld(stops);
    const { seed, calls, database } = world;
    const proxy = await startTcpProxy({ targetPort: Number(new URL(database.url).port) });
    stops.add(() => proxy.stop());
    const [hook = 0] = await world.hooks(1);
    const worker = await world.deliver({
      GHOST_LISTEN_DATABASE_URL: proxy.urlFor(database.url),
      GHOST_HEARTBEAT_MS: '2000',
    });
    const tookMs: number[] = [];
    // To the server those that went deaf are still there.
    const listening = async () =>
      (
        await seed.pool.query(
          `SELECT FROM pg_stat_activity
           WHERE application_name = 'ghost delivery listener' AND state = 'idle' AND query <> ''`,
        )
      ).rowCount;
    for (let time = 1; time <= TIMES; time += 1) {
      await waitUntil(async () => (await listening()) === time, { what: 'it to listen' });
      await delay(REST_MS);
      for (const connection of proxy.connections()) connection.blackHole();
      const startedAt = performance.now();
      await seed.webhooks([hook]);
      await calls.receiver.waitForRequests(time, DELIVERED_WITHIN_MS * 2);
      tookMs.push(Math.round(performance.now() - startedAt));
    }
    await world.settled(DELIVERED_WITHIN_MS);
    const found = () => logged(worker, 'delivery.listener_problem').length;
    // Lines of the log are written together, some milliseconds later.
    await waitUntil(() => found() >= TIMES, { what: 'the log to tell of each', timeoutMs: 2_000 });
    yield nothingLost(this.name, TIMES, await world.tally());
    yield {
      what: `${this.name}: commit to receipt, connections found dead`,
      figure: `${tookMs.join(' ')} ms, ${found()}`,
      bound: `≤ ${DELIVERED_WITHIN_MS} ms, ${TIMES}`,
      ok: Math.max(...tookMs) <= DELIVERED_WITHIN_MS && found() === TIMES,
    };
  },
};
