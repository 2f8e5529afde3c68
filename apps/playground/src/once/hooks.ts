import type { Pool } from '@ghost/db';

/** A hook of a repository, the demo's own or one that somebody added. */
export interface FoundHook {
  id: number;
  /** Whether it gets an event of this type. */
  takes: (eventType: string) => boolean;
  /** Whether what it gets comes to the playground's receiver. */
  seen: boolean;
}

/** The hooks of a repository as the database has them: people add their own and change the demo's. */
export async function findHooks(
  pool: Pool,
  repositoryId: number,
  receiverUrl: string,
): Promise<FoundHook[]> {
  const { rows } = await pool.query<{ id: string; url: string; events: string[]; active: boolean }>(
    'SELECT id, url, events, active FROM hook WHERE repository_id = $1 ORDER BY id',
    [repositoryId],
  );
  return rows.map(({ id, url, events, active }) => ({
    id: Number(id),
    takes: (eventType) => active && (events.includes('*') || events.includes(eventType)),
    seen: url.startsWith(`${receiverUrl}/hooks/`),
  }));
}
