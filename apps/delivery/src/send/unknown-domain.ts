import type { Sql } from '@ghost/queue';

/** Within less it may be our own DNS that is broken, and a mail that met it at the end of its time dies of it. */
const UNKNOWN_FOR_MS = 24 * 60 * 60_000;

/** Whether the relay has called the domain of a mail unknown for a day before this try, and said nothing else since. */
export async function isUnknownForLong(sql: Sql, jobId: string, nowMs: number): Promise<boolean> {
  const [row] = await sql.query<{ long: boolean | null }>(
    `WITH tried AS (
       SELECT reason, started_at FROM delivery_attempt
       WHERE job_id = $1 AND number IS NOT NULL AND finished_at > now() - interval '8 days'
     )
     SELECT min(started_at) <= $2 AS long FROM tried WHERE started_at > coalesce(
       (SELECT max(started_at) FROM tried WHERE reason IS DISTINCT FROM 'domain_unknown'), '-infinity')`,
    [jobId, new Date(nowMs - UNKNOWN_FOR_MS)],
  );
  return row?.long ?? false;
}
