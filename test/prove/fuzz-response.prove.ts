import type { fuzzRows as Rows } from '../support/hostile/fuzz/fuzz-rows.js';
import { loadSource } from '../support/load-source.js';
import type { ProofRow } from '../support/proof-world.js';

export const name =
  'Random bytes for an answer: no crash, no hang, no socket left, and none taken for the next';

export async function* run(): AsyncGenerator<ProofRow> {
  const { fuzzRows } = await loadSource<{ fuzzRows: typeof Rows }>(
    'test/support/hostile/fuzz/fuzz-rows.ts',
  );
  yield* fuzzRows();
}
