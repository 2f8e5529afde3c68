import { postgresHarness } from '../../packages/queue/conformance/queue-harness.js';
import { checkProperties } from '../../packages/queue/conformance/properties/queue-properties.js';
import type { ProofRow } from '../support/proof-world.js';
import { withStops } from '../support/stops.js';
import { createTestDatabase } from '../support/test-database.js';
import { startTestServer } from '../support/test-server.js';

export const name =
  'Whatever is asked of the queue, no job is lost, stranded or settled under an old fence';

const RUNS = 2_000;
const LIMIT_MS = 150_000;
/** What a busy machine plays in that time. */
const LEAST_RUNS = 100;

export function run(): AsyncGenerator<ProofRow> {
  return withStops(async function* (stops) {
    const server = await startTestServer();
    stops.add(() => server.stop());
    const database = await createTestDatabase(server);
    stops.add(() => database.drop());
    const harness = postgresHarness(database.url);
    stops.add(() => harness.close());
    const { seed, runs, fault } = await checkProperties(harness, { runs: RUNS, limitMs: LIMIT_MS });
    yield {
      what: `runs against the model, seed ${seed}`,
      figure: fault ?? `${runs}`,
      bound: `≥ ${LEAST_RUNS}, no objection`,
      ok: fault === null && runs >= LEAST_RUNS,
    };
  });
}
