import type { KnownJobs, NextDue, Sql } from '../queue.js';

/** The same filter as the claim's first statement, so that what a claim skips spins no timer. */
export async function nextDue(
  sql: Sql,
  { kind, version }: KnownJobs,
  { slow = true, tidy = true }: { slow?: boolean; tidy?: boolean } = {},
): Promise<NextDue> {
  const [row] = await sql.query<{ work_ms: number | null; suspect_ms: number | null }>(
    'SELECT work_ms, suspect_ms FROM delivery_next_due($1, $2, $3, $4)',
    [kind, version, slow, tidy],
  );
  return { workMs: row?.work_ms ?? null, suspectMs: row?.suspect_ms ?? null };
}
