import type { fuzzHeaderRows as Rows } from '../support/hostile/fuzz/fuzz-rows.js';
import { loadSource } from '../support/load-source.js';
import type { ProofRow } from '../support/proof-world.js';

export const name =
  "Random custom headers: no crash, no hang, and none is more than one line of a webhook's head";

export async function* run(): AsyncGenerator<ProofRow> {
  const { fuzzHeaderRows } = await loadSource<{ fuzzHeaderRows: typeof Rows }>(
    'test/support/hostile/fuzz/fuzz-rows.ts',
  );
  yield* fuzzHeaderRows();
}
