import { randomInt } from 'node:crypto';
import { addAccount } from '@ghost/operations';

import { FuzzWorld } from '../support/fuzz/fuzz-world.js';
import { sendRandomRequests } from '../support/fuzz/random-requests.js';
import { type ProofRow, startProofApi } from '../support/proof-world.js';
import { withStops } from '../support/stops.js';
import { createTestDatabase } from '../support/test-database.js';
import { startTestServer } from '../support/test-server.js';

export const name = 'Random requests are answered as the document says, and none with a 5xx';

const REQUESTS = 10_000;

export function run(): AsyncGenerator<ProofRow> {
  return withStops(async function* (stops) {
    const server = await startTestServer();
    stops.add(() => server.stop());
    const database = await createTestDatabase(server);
    stops.add(() => database.drop());
    const pool = database.pool();
    const { url } = await startProofApi(stops, database.url);
    const world = await FuzzWorld.over({
      pool,
      url,
      addPerson: (login) => addAccount(pool, { login, email: `${login}@people.example` }),
    });
    stops.add(() => world.stop());
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
  });
}
