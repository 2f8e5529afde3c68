import {
  API_SCOPES,
  type ApiScope,
  databaseErrorCode,
  inTransaction,
  type Pool,
  type Transaction,
} from '@ghost/db';
import { sqlOf } from '@ghost/queue';

import { AccountError, refuse } from './account-error.js';
import { checkEmail, checkLogin, checkName, checkScopes } from './account-rules.js';
import { createToken, hashToken } from './api-token.js';
import { recordAccessChange } from './audit.js';
import { listLimit } from './list-limit.js';
import { insertToken, LIVE } from './tokens.js';

const UNIQUE_VIOLATION = '23505';
const FIRST_TOKEN_LABEL = 'first token';

export interface NewAccount {
  login: string;
  /** Counts as verified: an operator typed it (mail goes to it at once). */
  email: string;
  /** Shown to people; the login by default. */
  name?: string;
  admin?: boolean;
  /** Of its first token; all by default. */
  scopes?: readonly ApiScope[];
}

export interface AddedAccount {
  id: number;
  login: string;
  /** Kept nowhere: only its SHA-256 is stored. */
  token: string;
}

/**
 * Makes an account with a verified address, a first API token and the audit's line: all or nothing.
 * @throws AccountError when a field is malformed or the login is taken (logins differ without case)
 */
export async function addAccount(pool: Pool, account: NewAccount): Promise<AddedAccount> {
  const { login, name = login, scopes = API_SCOPES } = account;
  refuse('bad_login', checkLogin(login));
  refuse('bad_email', checkEmail(account.email));
  refuse('bad_name', checkName(name));
  refuse('bad_scopes', checkScopes(scopes));
  try {
    return await inTransaction(pool, (tx) => insertAccount(tx, { ...account, name, scopes }));
  } catch (error) {
    if (databaseErrorCode(error) !== UNIQUE_VIOLATION) throw error;
    throw new AccountError('login_taken', `The login "${login}" is taken. Choose another.`, {
      cause: error,
    });
  }
}

async function insertAccount(
  tx: Transaction,
  { login, name, email, admin = false, scopes }: Required<Omit<NewAccount, 'admin'>> & NewAccount,
): Promise<AddedAccount> {
  const sql = sqlOf(tx);
  const [made] = await sql.query<{ id: string }>(
    `WITH made AS (
       INSERT INTO account (login, name, is_admin) VALUES ($1, $2, $3) RETURNING id
     ), address AS (
       INSERT INTO email_address (account_id, address, is_primary, verified_at)
       SELECT id, $4, true, now() FROM made
     )
     SELECT id FROM made`,
    [login, name, admin, email],
  );
  const id = Number(made?.id);
  const token = createToken();
  const first = await insertToken(
    sql,
    { id, login },
    { label: FIRST_TOKEN_LABEL, scopes, expiresAt: null, token },
  );
  await recordAccessChange(sql, {
    action: 'account.added',
    actor: null,
    subject: { id, login },
    detail: { admin, address: email, token: first.id, scopes },
  });
  return { id, login, token };
}

/** An account, as an operator sees it. */
export interface AccountRow {
  id: number;
  login: string;
  name: string;
  /** Where its mail goes; null: nowhere. */
  address: string | null;
  /** Whether that address is verified: without it no mail goes out. */
  verified: boolean;
  admin: boolean;
  createdAt: Date;
  /** Tokens that are neither revoked nor past their end. */
  liveTokens: number;
}

export interface AccountList {
  /** Only accounts after the one with this id. */
  after?: number;
  /** 1 to 1,000; default 50. */
  limit?: number;
}

/** The accounts, the oldest first. */
export async function listAccounts(pool: Pool, list: AccountList = {}): Promise<AccountRow[]> {
  const limit = listLimit(list.limit);
  const { rows } = await pool.query<
    Omit<AccountRow, 'id' | 'liveTokens'> & { id: string; liveTokens: string }
  >(
    `SELECT a.id, a.login, a.name, e.address, e.verified_at IS NOT NULL AS verified, a.is_admin AS admin,
       a.created_at AS "createdAt", (
         SELECT count(*) FROM api_token WHERE account_id = a.id AND ${LIVE}
       ) AS "liveTokens"
     FROM account a LEFT JOIN email_address e ON e.account_id = a.id AND e.is_primary
     WHERE a.id > $1 ORDER BY a.id LIMIT $2`,
    [list.after ?? 0, limit],
  );
  return rows.map((row) => ({ ...row, id: Number(row.id), liveTokens: Number(row.liveTokens) }));
}

/** The login that a live token belongs to; null when it is unknown, revoked or past its end. */
export async function loginOfToken(pool: Pool, token: string): Promise<string | null> {
  const { rows } = await pool.query<{ login: string }>(
    `SELECT a.login FROM api_token t JOIN account a ON a.id = t.account_id
     WHERE t.token_hash = $1 AND ${LIVE}`,
    [hashToken(token)],
  );
  return rows[0]?.login ?? null;
}
