import { type Database, schema, UNNAMED } from '@ghost/db';
import { hashToken } from '@ghost/operations';
import { Inject, Injectable } from '@nestjs/common';
import { and, eq, gt, isNull, or, type SQL, sql } from 'drizzle-orm';

import { DATABASE } from '../database/tokens.js';
import type { Account, Person } from './current-account.js';
import type { Profile } from './user-view.js';

const PERSON_COLUMNS = {
  id: schema.account.id,
  login: schema.account.login,
  name: schema.account.name,
};

/** Finds people; they are made by `ghost account add`. */
@Injectable()
export class AccountsService {
  readonly #byTokenHash: ReturnType<typeof prepareByTokenHash>;

  constructor(@Inject(DATABASE) private readonly db: Database) {
    this.#byTokenHash = prepareByTokenHash(db);
  }

  /** Whose live token this is; looked up by its hash, so nothing is compared in a time that tells. */
  async findByToken(token: string): Promise<Account | null> {
    const [found] = await this.#byTokenHash.execute({ hash: hashToken(token) });
    return found ?? null;
  }

  /** What others see of an account, and what it sees of itself; by id, or by login without case. */
  async findProfile(who: { id: number } | { login: string }): Promise<Profile | null> {
    const { account, repository } = schema;
    // Each by a partial index. Named with the table: Drizzle writes a column bare, and "id" would be the
    // repository's.
    const owned = (which: SQL) =>
      sql<number>`(select count(*)::integer from ${repository} r
        where r.owner_id = ${account}.id and ${which})`;
    const [found] = await this.db
      .select({
        ...PERSON_COLUMNS,
        isAdmin: account.isAdmin,
        createdAt: account.createdAt,
        publicRepositories: owned(sql`not r.private`),
        // Others see no such count, and need not wait for it.
        privateRepositories: 'id' in who ? owned(sql`r.private`) : sql<number>`0`,
      })
      .from(account)
      .where(
        'id' in who
          ? eq(account.id, who.id)
          : eq(sql`lower(${account.login})`, who.login.toLowerCase()),
      );
    return found ?? null;
  }

  /** By login, without case. */
  async findByLogin(login: string): Promise<Person | null> {
    const [found] = await this.db
      .select(PERSON_COLUMNS)
      .from(schema.account)
      .where(eq(sql`lower(${schema.account.login})`, login.toLowerCase()));
    return found ?? null;
  }
}

/** Put together once: every request asks it. */
function prepareByTokenHash(db: Database) {
  const { apiToken, account } = schema;
  return db
    .select({
      ...PERSON_COLUMNS,
      isAdmin: account.isAdmin,
      token: { id: apiToken.id, scopes: apiToken.scopes, expiresAt: apiToken.expiresAt },
    })
    .from(apiToken)
    .innerJoin(account, eq(account.id, apiToken.accountId))
    .where(
      and(
        eq(apiToken.tokenHash, sql.placeholder('hash')),
        isNull(apiToken.revokedAt),
        or(isNull(apiToken.expiresAt), gt(apiToken.expiresAt, sql`now()`)),
      ),
    )
    .prepare(UNNAMED);
}
