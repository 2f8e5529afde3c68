import { inTransaction, type Pool, type Transaction } from '@ghost/db';
import { type Sql, sqlOf, sqlOfPool } from '@ghost/queue';

import { AccountError } from './account-error.js';

/** Which account: by its id, or by its login without case. */
export type AccountRef = { accountId: number } | { login: string };

/** Where a change is made: in a transaction of its own, or as a part of the caller's. */
export type ChangeIn = Pool | Transaction;

export async function changeIn<T>(at: ChangeIn, work: (tx: Transaction) => Promise<T>): Promise<T> {
  return 'execute' in at ? work(at) : inTransaction(at, work);
}

/** For reads, in the transaction or on any connection. */
export function sqlAt(at: ChangeIn): Sql {
  return 'execute' in at ? sqlOf(at) : sqlOfPool(at);
}

export interface AccountName {
  id: number;
  login: string;
}

/** @throws AccountError `unknown_login` */
export async function findAccount(sql: Sql, ref: AccountRef): Promise<AccountName> {
  return select(sql, ref, '');
}

/**
 * Finds an account and keeps everybody else from changing its tokens and addresses until the
 * transaction ends, so that bounds on their number hold. Reads and new comments do not wait for it.
 * @throws AccountError `unknown_login`
 */
export async function lockAccount(sql: Sql, ref: AccountRef): Promise<AccountName> {
  return select(sql, ref, 'FOR NO KEY UPDATE');
}

async function select(sql: Sql, ref: AccountRef, lock: string): Promise<AccountName> {
  const [where, value] =
    'accountId' in ref ? ['id = $1', ref.accountId] : ['lower(login) = lower($1)', ref.login];
  const [row] = await sql.query<{ id: string; login: string }>(
    `SELECT id, login FROM account WHERE ${where} ${lock}`,
    [value],
  );
  if (row) return { id: Number(row.id), login: row.login };
  throw new AccountError(
    'unknown_login',
    'accountId' in ref ? 'There is no such account.' : `There is no account "${ref.login}".`,
  );
}
