import { withClient } from '@ghost/db';
import { type Sql, sqlOfClient } from '@ghost/queue';

/** Far over what a step takes: the server ends it first, the client where the server says nothing. */
const STATEMENT_WITHIN_MS = 10_000;
const ANSWER_WITHIN_MS = 15_000;

export interface RunAlone {
  /** A direct connection: behind a pooler in transaction mode the lock would stay with somebody else's. */
  databaseUrl: string;
  /** Shown in pg_stat_activity. */
  name: string;
  /** What two must not do at once. */
  lock: string;
}

/** Another runner is at it: nothing was done. */
export interface Busy {
  result: 'busy';
}

/** Does what one runner at a time may do, on a connection of its own; its lock goes with the connection, however that ends. */
export async function runAlone<T>(
  { databaseUrl, name, lock }: RunAlone,
  work: (sql: Sql) => Promise<T>,
): Promise<T | Busy> {
  const config = {
    connectionString: databaseUrl,
    application_name: name,
    statement_timeout: STATEMENT_WITHIN_MS,
    query_timeout: ANSWER_WITHIN_MS,
  };
  return withClient(config, async (client): Promise<T | Busy> => {
    const sql = sqlOfClient(client);
    const [row] = await sql.query<{ mine: boolean }>(
      'SELECT pg_try_advisory_lock(hashtextextended($1, 0)) AS mine',
      [lock],
    );
    if (row?.mine !== true) return { result: 'busy' };
    const result = await work(sql);
    // The server takes a moment to notice that a connection ended: who comes at once would find it busy.
    await sql
      .query('SELECT pg_advisory_unlock(hashtextextended($1, 0))', [lock])
      .catch(() => undefined);
    return result;
  });
}
