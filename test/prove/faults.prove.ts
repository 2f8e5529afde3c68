import { backendsTerminated } from '../support/faults/backends-terminated.js';
import { diskFull } from '../support/faults/disk-full.js';
import { fewConnections } from '../support/faults/few-connections.js';
import type { Fault } from '../support/faults/fault-world.js';
import { frozenHost } from '../support/faults/frozen-host.js';
import { frozenWorker } from '../support/faults/frozen-worker.js';
import { killedWorker } from '../support/faults/killed-worker.js';
import { listenerBlackholed } from '../support/faults/listener-blackholed.js';
import { poisonJob } from '../support/faults/poison-job.js';
import { postgresStopped } from '../support/faults/postgres-stopped.js';
import { slowAnswers } from '../support/faults/slow-answers.js';
import { stoppedWorker } from '../support/faults/stopped-worker.js';
import type { ProofRow } from '../support/proof-world.js';
import { withStops } from '../support/stops.js';

export const name =
  'Whatever befalls a process or its database, nothing is lost and nobody is needed';

/** They mostly wait, each on a Postgres of its own. */
const AT_ONCE = 3;
/** The longest first: the others run while it waits. */
const FAULTS: readonly Fault[] = [
  postgresStopped(180_000),
  postgresStopped(5_000),
  poisonJob,
  frozenWorker,
  frozenHost,
  listenerBlackholed,
  backendsTerminated,
  killedWorker,
  stoppedWorker,
  slowAnswers,
  diskFull,
  fewConnections,
];

/** Some of the faults alone: those whose name holds the word in GHOST_PROVE_FAULT. */
function chosen(): Fault[] {
  const word = process.env['GHOST_PROVE_FAULT'] ?? '';
  return FAULTS.filter((fault) => fault.name.includes(word));
}

export async function* run(): AsyncGenerator<ProofRow> {
  const left = chosen();
  const running = new Map<Fault, Promise<{ fault: Fault; rows: ProofRow[] }>>();
  while (left.length > 0 || running.size > 0) {
    for (const fault of left.splice(0, AT_ONCE - running.size)) {
      running.set(
        fault,
        rowsOf(fault).then((rows) => ({ fault, rows })),
      );
    }
    const { fault, rows } = await Promise.race(running.values());
    running.delete(fault);
    yield* rows;
  }
}

/** All rows of a fault; one more, which fails, when it throws. */
async function rowsOf(fault: Fault): Promise<ProofRow[]> {
  const rows: ProofRow[] = [];
  try {
    for await (const row of withStops((stops) => fault.run(stops))) rows.push(row);
  } catch (error) {
    const figure = error instanceof Error ? (error.stack ?? error.message) : String(error);
    rows.push({ what: `${fault.name}: its end`, figure, bound: 'no error', ok: false });
  }
  return rows;
}
