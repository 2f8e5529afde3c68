import type { Consumer } from '@ghost/contract';
import type { Sql } from '@ghost/queue';

/**
 * Milliseconds until the next unfinished row is due or its lease ends (0: now); null when nothing is
 * unfinished. The same filter as the claim's, so that what a claim passes over spins no timer.
 */
export async function nextDueProgress(
  sql: Sql,
  consumers: readonly Consumer[],
  known: readonly string[],
): Promise<number | null> {
  const [row] = await sql.query<{ due_in_ms: number | null }>(
    'SELECT outbox_next_due($1::text[], $2::text[]) AS due_in_ms',
    [consumers, known],
  );
  return row?.due_in_ms ?? null;
}
