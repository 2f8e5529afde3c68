import type { hostileRows as Rows } from '../support/hostile/hostile-rows.js';
import { loadSource } from '../support/load-source.js';
import type { ProofRow } from '../support/proof-world.js';

export const name =
  'Whatever an endpoint answers, an attempt ends in time, once, and costs nothing after it';

export async function* run(): AsyncGenerator<ProofRow> {
  const { hostileRows } = await loadSource<{ hostileRows: typeof Rows }>(
    'test/support/hostile/hostile-rows.ts',
  );
  yield* hostileRows();
}
