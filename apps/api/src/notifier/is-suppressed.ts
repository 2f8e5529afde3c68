import { schema } from '@ghost/db';
import { type SQL, sql } from 'drizzle-orm';

/** Whether an address gets no mail now. @param address - the column, by the name it has in the statement */
export function isSuppressed(address: SQL): SQL<boolean> {
  return sql<boolean>`exists (
    select from ${schema.mailSuppression} m where m.address = lower(${address})
      and m.since <= now() and (m.until is null or m.until > now()))`;
}
