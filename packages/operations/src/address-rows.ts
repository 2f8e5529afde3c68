import type { Sql } from '@ghost/queue';

import { type AccountName, lockAccount } from './lock-account.js';

const COLUMNS = 'id, address, is_primary, verified_at, created_at';

export interface AddressRow {
  id: number;
  address: string;
  /** Where the account's mail goes. */
  primary: boolean;
  /** Null: nobody has shown yet that mail to it arrives at the account's person. */
  verifiedAt: Date | null;
  createdAt: Date;
}

/** The oldest first. */
export async function addressesOf(sql: Sql, account: AccountName): Promise<AddressRow[]> {
  const rows = await sql.query<AddressRecord>(
    `SELECT ${COLUMNS} FROM email_address WHERE account_id = $1 ORDER BY id`,
    [account.id],
  );
  return rows.map(toRow);
}

/** Without case. */
export async function findAddress(
  sql: Sql,
  account: AccountName,
  address: string,
): Promise<AddressRow | null> {
  const [row] = await sql.query<AddressRecord>(
    `SELECT ${COLUMNS} FROM email_address WHERE account_id = $1 AND lower(address) = lower($2)`,
    [account.id, address],
  );
  return row === undefined ? null : toRow(row);
}

export async function findAddressById(
  sql: Sql,
  account: AccountName,
  id: number,
): Promise<AddressRow | null> {
  const [row] = await sql.query<AddressRecord>(
    `SELECT ${COLUMNS} FROM email_address WHERE account_id = $1 AND id = $2`,
    [account.id, id],
  );
  return row === undefined ? null : toRow(row);
}

/** The account whose address it is, locked; null when there is no such row. */
export async function lockAccountOfAddress(
  sql: Sql,
  addressId: number,
): Promise<AccountName | null> {
  const [row] = await sql.query<{ account_id: string }>(
    'SELECT account_id FROM email_address WHERE id = $1',
    [addressId],
  );
  return row === undefined ? null : lockAccount(sql, { accountId: Number(row.account_id) });
}

/** Writes the row alone: unverified, not primary. */
export async function insertAddress(
  sql: Sql,
  account: AccountName,
  address: string,
): Promise<AddressRow> {
  return one(
    await sql.query<AddressRecord>(
      `INSERT INTO email_address (account_id, address) VALUES ($1, $2) RETURNING ${COLUMNS}`,
      [account.id, address],
    ),
  );
}

/** Also makes it primary where none is. */
export async function markVerified(
  sql: Sql,
  account: AccountName,
  addressId: number,
): Promise<AddressRow> {
  return one(
    await sql.query<AddressRecord>(
      `UPDATE email_address SET verified_at = now(), is_primary = is_primary OR NOT EXISTS (
         SELECT FROM email_address p WHERE p.account_id = $2 AND p.is_primary)
       WHERE id = $1 RETURNING ${COLUMNS}`,
      [addressId, account.id],
    ),
  );
}

interface AddressRecord {
  id: string;
  address: string;
  is_primary: boolean;
  verified_at: Date | string | null;
  created_at: Date | string;
}

function toRow(row: AddressRecord): AddressRow {
  return {
    id: Number(row.id),
    address: row.address,
    primary: row.is_primary,
    verifiedAt: row.verified_at === null ? null : new Date(row.verified_at),
    createdAt: new Date(row.created_at),
  };
}

function one(rows: readonly AddressRecord[]): AddressRow {
  const [row] = rows;
  if (row === undefined) throw new Error('The address that was written was not returned');
  return toRow(row);
}
