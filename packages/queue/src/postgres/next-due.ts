import type { JobKind } from '@ghost/contract';

import type { Sql } from '../queue.js';

/** The same filter as the claim's first statement, so that what a claim skips spins no timer. */
export async function nextDue(
  sql: Sql,
  known: readonly { kind: JobKind; version: number }[],
): Promise<number | null> {
  const [row] = await sql.query<{ due_in_ms: number | null }>(
    'SELECT delivery_next_due($1::text[], $2::smallint[]) AS due_in_ms',
    [known.map((one) => one.kind), known.map((one) => one.version)],
  );
  return row?.due_in_ms ?? null;
}
