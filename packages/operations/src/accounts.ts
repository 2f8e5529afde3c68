import type { Pool } from '@ghost/db';
import { databaseErrorCode } from '@ghost/db';

import { createToken, hashToken } from './api-token.js';
import { checkEmail, checkLogin, checkName } from './account-rules.js';

const UNIQUE_VIOLATION = '23505';

export type AccountProblem =
  | 'bad_login'
  | 'bad_email'
  | 'bad_name'
  | 'login_taken'
  | 'unknown_login';

/** Why an account was not made or changed; the message is for the person who typed it. */
export class AccountError extends Error {
  override readonly name = 'AccountError';
  readonly problem: AccountProblem;

  constructor(problem: AccountProblem, message: string, options?: ErrorOptions) {
    super(message, options);
    this.problem = problem;
  }
}

export interface NewAccount {
  login: string;
  /** Counts as verified: an operator typed it (mail goes to it at once). */
  email: string;
  /** Shown to people; the login by default. */
  name?: string;
  admin?: boolean;
}

export interface AddedAccount {
  id: number;
  login: string;
  /** Kept nowhere: only its SHA-256 is stored. */
  token: string;
}

/**
 * Makes an account with a verified address and a first API token, both or neither.
 * @throws AccountError when a field is malformed or the login is taken (logins differ without case)
 */
export async function addAccount(pool: Pool, account: NewAccount): Promise<AddedAccount> {
  const login = account.login;
  const name = account.name ?? login;
  refuse('bad_login', checkLogin(login));
  refuse('bad_email', checkEmail(account.email));
  refuse('bad_name', checkName(name));
  const token = createToken();
  try {
    const { rows } = await pool.query<{ account_id: string }>(
      `WITH made AS (
         INSERT INTO account (login, name, email, email_verified_at, is_admin)
         VALUES ($1, $2, $3, now(), $4) RETURNING id
       )
       INSERT INTO api_token (account_id, label, token_hash) SELECT id, $5, $6 FROM made RETURNING account_id`,
      [login, name, account.email, account.admin ?? false, 'first token', hashToken(token)],
    );
    return { id: Number(rows[0]?.account_id), login, token };
  } catch (error) {
    if (databaseErrorCode(error) !== UNIQUE_VIOLATION) throw error;
    throw new AccountError('login_taken', `The login "${login}" is taken. Choose another.`, {
      cause: error,
    });
  }
}

/**
 * Makes one more API token for an account.
 * @returns the token, kept nowhere else
 * @throws AccountError `unknown_login`
 */
export async function addToken(pool: Pool, login: string, label: string): Promise<string> {
  const token = createToken();
  const { rowCount } = await pool.query(
    `INSERT INTO api_token (account_id, label, token_hash)
     SELECT id, $2, $3 FROM account WHERE lower(login) = lower($1)`,
    [login, label, hashToken(token)],
  );
  if (rowCount === 0) throw new AccountError('unknown_login', `There is no account "${login}".`);
  return token;
}

/** The login that a live token belongs to; null when it is unknown or revoked. */
export async function loginOfToken(pool: Pool, token: string): Promise<string | null> {
  const { rows } = await pool.query<{ login: string }>(
    `SELECT a.login FROM api_token t JOIN account a ON a.id = t.account_id
     WHERE t.token_hash = $1 AND t.revoked_at IS NULL`,
    [hashToken(token)],
  );
  return rows[0]?.login ?? null;
}

function refuse(problem: AccountProblem, complaint: string | null): void {
  if (complaint !== null) throw new AccountError(problem, complaint);
}
