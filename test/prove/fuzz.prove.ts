import { randomInt } from 'node:crypto';
import { createPool } from '@ghost/db';
import { addAccount } from '@ghost/operations';

import { FuzzWorld } from '../support/fuzz/fuzz-world.js';
import { sendRandomRequests } from '../support/fuzz/random-requests.js';
import { freePort, startApi, testEnvironment } from '../support/ghost-processes.js';
import { createTestDatabase } from '../support/test-database.js';
import { startTestServer } from '../support/test-server.js';

export const name = 'Random requests are answered as the document says, and none with a 5xx';

const REQUESTS = 10_000;

export async function* run() {
  const stops: (() => unknown)[] = [];
  try {
    const server = await startTestServer();
    stops.push(() => server.stop());
    const database = await createTestDatabase(server);
    const pool = createPool({
      connectionString: database.url,
      name: 'proof',
      max: 2,
      onError: () => undefined,
    });
    stops.push(() => pool.end());
    const port = await freePort();
    const api = await startApi(port, testEnvironment(database.url));
    stops.push(() => api.stop());
    const world = await FuzzWorld.over({
      url: `http://127.0.0.1:${port}`,
      addPerson: (login) => addAccount(pool, { login, email: `${login}@people.example` }),
    });
    stops.push(() => world.stop());
    const seed = randomInt(2 ** 31);
    const seen = await sendRandomRequests(world, { count: REQUESTS, seed });
    const answered = Object.values(seen).reduce((sum, count) => sum + count, 0);
    const classes = Object.entries(seen).map(([kind, count]) => `${kind}: ${count}`);
    yield {
      what: `random requests, seed ${seed}`,
      figure: `${answered} (${classes.toSorted().join(', ')})`,
      bound: `≥ ${REQUESTS}, no 5xx`,
      ok: answered >= REQUESTS && seen['5xx'] === undefined,
    };
  } finally {
    for (const stop of stops.reverse()) await stop();
  }
}
