import { postgresHarness } from '../../packages/queue/conformance/queue-harness.js';
import { checkProperties } from '../../packages/queue/conformance/properties/queue-properties.js';
import type { ProofRow } from '../support/proof-world.js';
import { applyMutant, QUEUE_MUTANTS, type QueueMutant } from '../support/queue-mutants.js';
import { Stops, withStops } from '../support/stops.js';
import { createTestDatabase } from '../support/test-database.js';
import { startTestServer, type TestServer } from '../support/test-server.js';

export const name = 'The properties of the queue are not blind: each fault that is put in is found';

const RUNS = 500;
const LIMIT_MS = 60_000;

/** Some of them alone: those whose name holds the word in GHOST_PROVE_MUTANT. */
export function run(): AsyncGenerator<ProofRow> {
  const word = process.env['GHOST_PROVE_MUTANT'] ?? '';
  const mutants = QUEUE_MUTANTS.filter((mutant) => mutant.name.includes(word));
  if (mutants.length === 0) throw new Error(`No mutant has ${word} in its name.`);
  return withStops(async function* (stops) {
    const server = await startTestServer();
    stops.add(() => server.stop());
    for (const mutant of mutants) yield await find(server, mutant);
  });
}

async function find(server: TestServer, mutant: QueueMutant): Promise<ProofRow> {
  const stops = new Stops();
  try {
    const database = await createTestDatabase(server);
    stops.add(() => database.drop());
    const harness = postgresHarness(database.url);
    stops.add(() => harness.close());
    await applyMutant(harness.pool, mutant);
    const wish = { runs: RUNS, limitMs: LIMIT_MS, shrink: false };
    const { seed, runs, fault } = await checkProperties(harness, wish);
    return {
      what: mutant.name,
      figure: fault === null ? `not in ${runs}` : `run ${runs}`,
      bound: `found within ${RUNS} runs, seed ${seed}`,
      ok: fault !== null,
    };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { what: mutant.name, figure: why, bound: 'found', ok: false };
  } finally {
    await stops.run();
  }
}
