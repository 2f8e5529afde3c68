import { type Database, schema } from '@ghost/db';
import { hashToken } from '@ghost/operations';
import { Inject, Injectable } from '@nestjs/common';
import { and, eq, isNull, sql } from 'drizzle-orm';

import { DATABASE } from '../database/tokens.js';
import type { Account } from './current-account.js';

const COLUMNS = {
  id: schema.account.id,
  login: schema.account.login,
  name: schema.account.name,
  isAdmin: schema.account.isAdmin,
};

/** Finds people; they are made by `ghost account add`. */
@Injectable()
export class AccountsService {
  constructor(@Inject(DATABASE) private readonly db: Database) {}

  /** Whose live token this is; looked up by its hash, so nothing is compared in a time that tells. */
  async findByToken(token: string): Promise<Account | null> {
    const [found] = await this.db
      .select(COLUMNS)
      .from(schema.apiToken)
      .innerJoin(schema.account, eq(schema.account.id, schema.apiToken.accountId))
      .where(
        and(eq(schema.apiToken.tokenHash, hashToken(token)), isNull(schema.apiToken.revokedAt)),
      );
    return found ?? null;
  }

  /** By login, without case. */
  async findByLogin(login: string): Promise<Account | null> {
    const [found] = await this.db
      .select(COLUMNS)
      .from(schema.account)
      .where(eq(sql`lower(${schema.account.login})`, login.toLowerCase()));
    return found ?? null;
  }
}
