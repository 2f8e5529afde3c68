import type { Sql } from '../queue.js';

/** Makes ended jobs pending again; mail that was cancelled for access or suppression stays ended. */
export async function redeliver(tx: Sql, jobIds: readonly string[]): Promise<string[]> {
  if (jobIds.length === 0) return [];
  const rows = await tx.query<{ id: string }>(
    'SELECT id FROM delivery_redeliver($1::uuid[]) AS id',
    [jobIds],
  );
  return rows.map((row) => row.id);
}
