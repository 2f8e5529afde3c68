import { mayReadSql, schema, type Transaction } from '@ghost/db';
import { sql } from 'drizzle-orm';

import { isSuppressed } from './is-suppressed.js';

/** A person who watches the repository or takes part in the thread, with all that decides on a mail. */
export interface Candidate {
  accountId: number;
  login: string;
  name: string;
  /** Null: none is primary. */
  email: string | null;
  verified: boolean;
  watching: boolean;
  /** Wants no mail at all of the repository. */
  ignored: boolean;
  /** Why they take part in the thread; null: they only watch. */
  participation: 'author' | 'participant' | 'mention' | 'manual' | null;
  /** Wants nothing more of the thread. */
  muted: boolean;
  mayRead: boolean;
  suppressed: boolean;
  /** What mail they want of all threads. */
  wants: { watching: boolean; participating: boolean; ownActions: boolean };
}

export interface Audience {
  repositoryId: number;
  threadId: number;
}

type CandidateRow = {
  account_id: string;
  login: string;
  name: string;
  email: string | null;
  verified: boolean;
  watching: boolean;
  ignored: boolean;
  participation: Candidate['participation'];
  muted: boolean;
  may_read: boolean;
  suppressed: boolean;
  wants_watching: boolean;
  wants_participating: boolean;
  wants_own: boolean;
};

/**
 * The next candidates by account id, each once. Both lists are read in the order of their primary
 * keys and only as far as the page goes, so a page costs the same at every depth (EXPLAIN with
 * 100,000 watchers: index scans of at most `limit` rows, a sort of twice the page). LATERAL with OFFSET 0
 * looks each account up by key, where a plan on stale statistics would read them all.
 */
export async function audiencePage(
  tx: Transaction,
  { repositoryId, threadId }: Audience,
  after: number,
  limit: number,
): Promise<Candidate[]> {
  const { repository } = schema;
  const found = await tx.execute<CandidateRow>(sql`
    with candidate as materialized (
      select u.account_id, bool_or(u.watching) as watching, bool_or(u.ignored) as ignored,
        max(u.participation) as participation, bool_or(u.muted) as muted
      from (
        (select w.account_id, not w.ignored as watching, w.ignored, null as participation, false as muted
         from ${schema.watch} w where w.repository_id = ${repositoryId} and w.account_id > ${after}
         order by w.account_id limit ${limit})
        union all
        (select s.account_id, false, false, s.reason, s.muted
         from ${schema.threadSubscription} s where s.thread_id = ${threadId} and s.account_id > ${after}
         order by s.account_id limit ${limit})
      ) u
      group by u.account_id order by u.account_id limit ${limit}
    )
    select c.*, a.login, a.name, a.email, a.verified, a.wants_watching, a.wants_participating, a.wants_own,
      ${mayReadSql(sql`c.account_id`)} as may_read,
      ${isSuppressed(sql`a.email`)} as suppressed
    from candidate c
    cross join lateral (
      select p.login, p.name, e.address as email, e.verified_at is not null as verified,
        coalesce(m.watching, true) as wants_watching, coalesce(m.participating, true) as wants_participating,
        coalesce(m.own_actions, false) as wants_own
      from ${schema.account} p
      left join ${schema.emailAddress} e on e.account_id = p.id and e.is_primary
      left join ${schema.mailChoice} m on m.account_id = p.id
      where p.id = c.account_id offset 0
    ) a
    join ${repository} on ${repository.id} = ${repositoryId}
    order by c.account_id`);
  return found.rows.map((row) => ({
    accountId: Number(row.account_id),
    login: row.login,
    name: row.name,
    email: row.email,
    verified: row.verified,
    watching: row.watching,
    ignored: row.ignored,
    participation: row.participation,
    muted: row.muted,
    mayRead: row.may_read,
    suppressed: row.suppressed,
    wants: {
      watching: row.wants_watching,
      participating: row.wants_participating,
      ownActions: row.wants_own,
    },
  }));
}

/** Counts who wants mail of the thread, no further than `upTo`. */
export async function countAudience(
  tx: Transaction,
  { repositoryId, threadId }: Audience,
  upTo: number,
): Promise<number> {
  const found = await tx.execute<{ readers: string }>(sql`
    select count(*) as readers from (
      (select w.account_id from ${schema.watch} w
       where w.repository_id = ${repositoryId} and not w.ignored order by w.account_id limit ${upTo})
      union
      (select s.account_id from ${schema.threadSubscription} s
       where s.thread_id = ${threadId} and not s.muted order by s.account_id limit ${upTo})
      limit ${upTo}
    ) reader`);
  return Number(found.rows[0]?.readers ?? 0);
}
