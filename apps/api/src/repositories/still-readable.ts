import { mayReadSql } from '@ghost/db';
import { type SQL, sql } from 'drizzle-orm';

/**
 * Whether the asker may read `schema.repository`, for the statement that reads a list from it: access that
 * ended since it was judged shows nothing that came later.
 */
export function isStillReadableBy(account: { id: number } | null): SQL<boolean> {
  return mayReadSql(sql`${account?.id ?? null}::bigint`);
}
