import { mayReadSql, schema, type Transaction } from '@ghost/db';
import { sql } from 'drizzle-orm';

import type { Person } from '../accounts/current-account.js';
import { mentionsOf } from './mentions-of.js';

interface Place {
  repositoryId: number;
  threadId: number;
}

/**
 * Finds whom a text mentions and who may read it, and makes them follow the thread from the transaction's
 * commit on; who follows or has muted it already stays as they are. A name that nobody has, or whose account
 * may not read the repository, is plain text, and nobody learns which. A text that mentions no one costs
 * no statement.
 * @param before - the text that an edit replaces: whom it mentioned already is not made to follow again
 * @returns the people by id
 */
export async function mentionPeople(
  tx: Transaction,
  { repositoryId, threadId }: Place,
  text: string,
  before = '',
): Promise<Person[]> {
  const logins = mentionsOf(text);
  if (logins.length === 0) return [];
  const known = new Set(mentionsOf(before));
  const added = logins.filter((login) => !known.has(login));
  const { account, repository, threadSubscription, commentCounter } = schema;
  // The counter's row is locked by whoever posts, too: all write subscriptions of a thread in turn, or
  // two that mention each other's people could wait for each other.
  const found = await tx.execute<{ id: string; login: string; name: string }>(sql`
    with turn as materialized (
      select from ${commentCounter} where ${commentCounter.threadId} = ${threadId} for no key update
    ), mentioned as materialized (
      select ${account.id} as id, ${account.login} as login, ${account.name} as name
      from ${account} join ${repository} on ${repository.id} = ${repositoryId}
      where (select count(*) from turn) >= 0
        and lower(${account.login}) = any (${textArray(logins)}) and ${mayReadSql(account.id)}
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
