import { mailLane, type Queue, type Sql, sqlOf } from '@ghost/queue';

import { AccountError, refuse } from './account-error.js';
import { checkEmail, checkOwnEmail } from './account-rules.js';
import {
  type AddressRow,
  addressesOf,
  findAddress,
  findAddressById,
  insertAddress,
  lockAccountOfAddress,
  markVerified,
} from './address-rows.js';
import { type AuditAction, type AuditActor, recordAccessChange } from './audit.js';
import {
  type AccountName,
  type AccountRef,
  type ChangeIn,
  changeIn,
  findAccount,
  lockAccount,
  sqlAt,
} from './lock-account.js';

/** Addresses of an account, verified or not. */
export const MAX_ADDRESSES = 10;
/** `last_error` of a mail that was cancelled with its address. */
export const ADDRESS_REMOVED = 'address_removed';
/** `last_error` of a verification mail that nobody needs any more. */
export const ADDRESS_VERIFIED = 'address_verified';

/** One address of an account; addresses are compared without case. */
export type AddressRef = AccountRef & { address: string };

/** Who wishes a change. */
type Wish = { actor: AuditActor };

export interface AddedAddress extends AddressRow {
  account: { id: number; login: string };
  /** False: it was there, unverified. */
  added: boolean;
}

/** The addresses of an account (at most {@link MAX_ADDRESSES}), the oldest first. */
export async function listAddresses(at: ChangeIn, ref: AccountRef): Promise<AddressRow[]> {
  const sql = sqlAt(at);
  return addressesOf(sql, await findAccount(sql, ref));
}

/**
 * Gives an account one more address. One that is there unverified is returned, so that its mail can be
 * sent again; where `verified` says so it is verified by that. The first verified address of an account
 * whose mail goes nowhere becomes the primary one.
 * @throws AccountError `unknown_login`, `bad_email`, `already_verified`, `too_many_addresses`,
 *   `suppressed_address` (its verification mail would not be sent)
 */
export async function addAddress(
  at: ChangeIn,
  wish: AddressRef & Wish & { /** An operator vouches for it. */ verified: boolean },
): Promise<AddedAddress> {
  const { address, verified, actor } = wish;
  refuse('bad_email', verified ? checkEmail(address) : checkOwnEmail(address));
  return changeIn(at, async (tx) => {
    const sql = sqlOf(tx);
    const account = await lockAccount(sql, wish);
    const there = await findAddress(sql, account, address);
    if (there?.verifiedAt) {
      throw new AccountError('already_verified', `The account has ${there.address} already.`);
    }
    if (!verified) await refuseSuppressed(sql, address);
    if (!there) await refuseTooMany(sql, account);
    const row = there ?? (await insertAddress(sql, account, address));
    if (!there) await note(sql, 'address.added', actor, account, { address });
    const current = verified ? await setVerified(sql, account, row, actor) : row;
    return { ...current, account, added: !there };
  });
}

/**
 * Says that mail to an address arrives at the account's person: by the row of the link that was mailed
 * there, or by an operator's word. Again it changes nothing. Verification mails that still wait are
 * cancelled.
 */
export async function verifyAddress(
  at: ChangeIn,
  queue: Queue,
  wish: { addressId: number; actor: 'link' } | (AddressRef & Wish),
): Promise<'verified' | 'unchanged' | 'absent'> {
  return changeIn(at, async (tx) => {
    const sql = sqlOf(tx);
    const account =
      'addressId' in wish
        ? await lockAccountOfAddress(sql, wish.addressId)
        : await lockAccount(sql, wish);
    if (account === null) return 'absent';
    const row =
      'addressId' in wish
        ? await findAddressById(sql, account, wish.addressId)
        : await findAddress(sql, account, wish.address);
    if (row === null) return 'absent';
    if (row.verifiedAt !== null) return 'unchanged';
    const actor = wish.actor === 'link' ? { ...account, token: null } : wish.actor;
    await setVerified(sql, account, row, actor);
    await cancelMails(queue, sql, account, [row], 'verification');
    return 'verified';
  });
}

/**
 * Takes addresses from an account, all or none, and cancels the mail that waits for them: they are
 * nobody's any more.
 * @returns `absent` when one of them is not the account's: none was taken
 * @throws AccountError `unknown_login`, `primary_address` (mail would go nowhere, unseen) with its place
 */
export async function removeAddresses(
  at: ChangeIn,
  queue: Queue,
  wish: AccountRef & Wish & { addresses: readonly string[] },
): Promise<'removed' | 'absent'> {
  return changeIn(at, async (tx) => {
    const sql = sqlOf(tx);
    const account = await lockAccount(sql, wish);
    const rows: AddressRow[] = [];
    for (const [place, address] of wish.addresses.entries()) {
      const row = await findAddress(sql, account, address);
      if (row === null) return 'absent';
      if (row.primary) {
        throw new AccountError(
          'primary_address',
          `${row.address} is where the account's mail goes. Make another verified address the primary one first.`,
          { place },
        );
      }
      if (!rows.some(({ id }) => id === row.id)) rows.push(row);
    }
    // Waits for fan-out pages that have one of the rows in their hands: their mail is seen below, and ends
    // too. All rows before any lane: such a page locks its lane last.
    const ids = rows.map(({ id }) => id);
    await sql.query('DELETE FROM email_address WHERE id = ANY ($1::bigint[])', [ids]);
    const cancelled = await cancelMails(queue, sql, account, rows, 'all');
    for (const { address } of rows) {
      await note(sql, 'address.removed', wish.actor, account, {
        address,
        mails_cancelled: cancelled.get(address.toLowerCase()) ?? 0,
      });
    }
    return 'removed';
  });
}

/**
 * Makes a verified address the one where the account's mail goes from now on. Mail that waits for the
 * former one still goes there: its bytes are fixed, and that address is the account's as before.
 * @throws AccountError `unknown_login`, `unverified_address`, `suppressed_address` (mail would be left out)
 */
export async function makePrimary(
  at: ChangeIn,
  wish: AddressRef & Wish,
): Promise<'changed' | 'unchanged' | 'absent'> {
  return changeIn(at, async (tx) => {
    const sql = sqlOf(tx);
    const account = await lockAccount(sql, wish);
    const row = await findAddress(sql, account, wish.address);
    if (row === null) return 'absent';
    if (row.primary) return 'unchanged';
    if (row.verifiedAt === null) {
      throw new AccountError(
        'unverified_address',
        `${row.address} is not verified: follow the link in the mail that was sent there, or add the address again for a new one.`,
      );
    }
    await refuseSuppressed(sql, row.address);
    const [former] = await sql.query<{ address: string }>(
      'UPDATE email_address SET is_primary = false WHERE account_id = $1 AND is_primary RETURNING address',
      [account.id],
    );
    await sql.query('UPDATE email_address SET is_primary = true WHERE id = $1', [row.id]);
    await note(sql, 'address.made_primary', wish.actor, account, {
      address: row.address,
      before: former?.address ?? null,
    });
    return 'changed';
  });
}

async function setVerified(
  sql: Sql,
  account: AccountName,
  row: AddressRow,
  actor: AuditActor,
): Promise<AddressRow> {
  const current = await markVerified(sql, account, row.id);
  await note(sql, 'address.verified', actor, account, {
    address: row.address,
    primary: current.primary,
  });
  return current;
}

async function refuseTooMany(sql: Sql, account: AccountName): Promise<void> {
  if ((await addressesOf(sql, account)).length < MAX_ADDRESSES) return;
  throw new AccountError(
    'too_many_addresses',
    `The account has ${MAX_ADDRESSES} addresses, which is the most. Remove one that is not needed.`,
  );
}

/** @throws AccountError `suppressed_address` for an address that gets no mail now */
async function refuseSuppressed(sql: Sql, address: string): Promise<void> {
  const [row] = await sql.query<{ until: Date | string | null }>(
    `SELECT until FROM mail_suppression
     WHERE address = lower($1) AND since <= now() AND (until IS NULL OR until > now())`,
    [address],
  );
  if (!row) return;
  const end =
    row.until === null
      ? 'Use another address, or ask an operator.'
      : `Use another address, or try again after ${new Date(row.until).toISOString()}.`;
  throw new AccountError(
    'suppressed_address',
    `Mail to ${address} was refused by its server, so none is sent there now. ${end}`,
  );
}

/**
 * In one call for all of them, as it locks their lanes in order: two changes that each locked one lane after
 * the other would meet half-way.
 * @returns how many mails ended, by address in lower case
 */
async function cancelMails(
  queue: Queue,
  sql: Sql,
  account: AccountName,
  rows: readonly AddressRow[],
  which: 'all' | 'verification',
): Promise<Map<string, number>> {
  const jobs = await sql.query<{ id: string }>(
    `SELECT j.id FROM delivery_job j LEFT JOIN outbox_event e ON e.id = j.event_id
     WHERE j.status = 'pending' AND j.account_id = $1 AND j.kind = 'email'
       AND j.lane = ANY ($2::text[]) AND lower(j.own #>> '{to,address}') = ANY ($3::text[])
       AND ($4 OR e.type = 'address.added')
     ORDER BY j.id`,
    [
      account.id,
      rows.flatMap(({ address }) => [mailLane(address, false), mailLane(address, true)]),
      rows.map(({ address }) => address.toLowerCase()),
      which === 'all',
    ],
  );
  if (jobs.length === 0) return new Map();
  const jobIds = jobs.map((job) => job.id);
  const reason = which === 'all' ? ADDRESS_REMOVED : ADDRESS_VERIFIED;
  await queue.cancel(sql, { jobIds }, reason);
  const ended = await sql.query<{ address: string; mails: number }>(
    `SELECT lower(own #>> '{to,address}') AS address, count(*)::integer AS mails FROM delivery_job
     WHERE id = ANY ($1::uuid[]) AND status = 'cancelled' AND last_error = $2 GROUP BY 1`,
    [jobIds, reason],
  );
  return new Map(ended.map(({ address, mails }) => [address, mails]));
}

async function note(
  sql: Sql,
  action: AuditAction,
  actor: AuditActor,
  subject: AccountName,
  detail: Readonly<Record<string, unknown>>,
): Promise<void> {
  await recordAccessChange(sql, { action, actor, subject, detail });
}
