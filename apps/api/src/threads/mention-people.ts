import { mayReadSql, schema, type Transaction } from '@ghost/db';
import { eq, sql } from 'drizzle-orm';

import type { Person } from '../accounts/current-account.js';

interface Place {
  repositoryId: number;
  threadId: number;
}

/**
 * Locks the thread's counter for an edit that mentions anybody, before the edit locks what it changes. Whoever
 * posts has it locked already: so all write subscriptions of a thread in turn, or two that mention each
 * other's people could wait for each other.
 */
export async function takeTurnToMention(
  tx: Transaction,
  threadId: number,
  logins: readonly string[],
): Promise<void> {
  if (logins.length === 0) return;
  const { threadId: id } = schema.commentCounter;
  await tx.select({ id }).from(schema.commentCounter).where(eq(id, threadId)).for('no key update');
}

/**
 * Of those whom a text mentions, finds who may read it, and makes them follow the thread from the transaction's
 * commit on; who follows or has muted it already stays as they are. A name that nobody has, or whose account
 * may not read the repository, is plain text, and nobody learns which. A text that mentions no one costs
 * no statement. To be called in the thread's turn: see {@link takeTurnToMention}.
 * @param before - whom the text that an edit replaces mentioned: they are not made to follow again
 * @returns the people by id
 */
export async function mentionPeople(
  tx: Transaction,
  { repositoryId, threadId }: Place,
  logins: readonly string[],
  before: readonly string[] = [],
): Promise<Person[]> {
  if (logins.length === 0) return [];
  const known = new Set(before);
  const added = logins.filter((login) => !known.has(login));
  const { account, repository, threadSubscription } = schema;
  const found = await tx.execute<{ id: string; login: string; name: string }>(sql`
    with mentioned as materialized (
      select ${account.id} as id, ${account.login} as login, ${account.name} as name
      from ${account} join ${repository} on ${repository.id} = ${repositoryId}
      where lower(${account.login}) = any (${textArray(logins)}) and ${mayReadSql(account.id)}
    ), following as (
      insert into ${threadSubscription} (thread_id, account_id, reason)
      select ${threadId}, m.id, 'mention' from mentioned m
      where lower(m.login) = any (${textArray(added)}) order by m.id
      on conflict do nothing
    )
    select id, login, name from mentioned order by id`);
  return found.rows.map(({ id, login, name }) => ({ id: Number(id), login, name }));
}

function textArray(values: readonly string[]) {
  return sql`${sql.param(values)}::text[]`;
}
