import { randomUUID } from 'node:crypto';

import { createPool, inTransaction, type Pool } from '@ghost/db';
import { createPostgresQueue, mailLane, type Queue, sqlOf } from '@ghost/queue';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { problemOf } from '../../../test/support/problem-of.js';
import { createTestDatabase, type TestDatabase } from '../../../test/support/test-database.js';
import { waitUntil } from '../../../test/support/wait-until.js';
import { addAccount } from './accounts.js';
import {
  addAddress,
  listAddresses,
  makePrimary,
  MAX_ADDRESSES,
  removeAddresses,
  verifyAddress,
} from './addresses.js';
import { listAudit } from './audit.js';
import { retryJob } from './jobs.js';

let database: TestDatabase;
let pool: Pool;
let queue: Queue;
let people = 0;
/** A new account for each test; its first address is the primary one. */
let login: string;
let accountId: number;
let first: string;

beforeAll(async () => {
  database = await createTestDatabase();
  pool = createPool({
    connectionString: database.url,
    name: 'addresses test',
    max: 8,
    onError: () => undefined,
  });
  queue = createPostgresQueue({ pool });
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});
beforeEach(async () => {
  people += 1;
  login = `person-${people}`;
  first = `p${people}@example.test`;
  ({ id: accountId } = await addAccount(pool, { login, email: first }));
});

const add = (address: string, verified = false) =>
  addAddress(pool, { accountId, address, verified, actor: null });
const remove = (...addresses: string[]) =>
  removeAddresses(pool, queue, { accountId, addresses, actor: null });
const prefer = (address: string) => makePrimary(pool, { accountId, address, actor: null });
const verify = (address: string) => verifyAddress(pool, queue, { login, address, actor: null });

const shown = async () =>
  (await listAddresses(pool, { accountId })).map(
    ({ address, primary, verifiedAt }) =>
      `${address}${primary ? ' primary' : ''}${verifiedAt === null ? '' : ' verified'}`,
  );
const audit = async () =>
  (await listAudit(pool, { account: login }))
    .filter(({ action }) => action.startsWith('address.'))
    .map(({ action, detail }) => `${action} ${String(detail['address'])}`);

const HOUR_MS = 3_600_000;

/** A mail that waits, of a thread or of `address.added`, for the row that the address has now. */
async function queued(
  address: string,
  type: 'comment.created' | 'address.added',
  linkEndsInMs = 72 * HOUR_MS,
) {
  const eventId = randomUUID();
  const row = (await listAddresses(pool, { accountId })).find(
    (one) => one.address.toLowerCase() === address.toLowerCase(),
  );
  const expiresAt = new Date(Date.now() + linkEndsInMs).toISOString();
  await pool.query(`INSERT INTO outbox_event (id, type, version, payload) VALUES ($1, $2, 1, $3)`, [
    eventId,
    type,
    { address_id: row?.id, expires_at: expiresAt },
  ]);
  const id = randomUUID();
  await inTransaction(pool, async (tx) => {
    const contentId = await queue.storeContent(sqlOf(tx), {
      kind: 'email',
      eventId,
      parts: {
        envelopeFrom: 'g@example.test',
        from: { name: 'Ghost', address: 'g@example.test' },
        subject: [''],
        text: [''],
        date: '2026-01-01T00:00:00Z',
        messageIdDomain: 'example.test',
        headers: [],
      },
    });
    await queue.enqueue(sqlOf(tx), [
      {
        id,
        idempotencyKey: `email:${eventId}:${accountId}`,
        eventId,
        contentId,
        kind: 'email',
        lane: mailLane(address, false),
        repositoryId: null,
        accountId,
        own: { to: { name: login, address }, slots: {} },
      },
    ]);
  });
  return id;
}

/** A mail that was delivered; asked for again, it may go only where mail may go now. */
async function delivered(...mail: Parameters<typeof queued>): Promise<string> {
  const id = await queued(...mail);
  await pool.query(
    `UPDATE delivery_job SET status = 'delivered', finished_at = now() WHERE id = $1`,
    [id],
  );
  return id;
}

async function stateOf(jobId: string) {
  const { rows } = await pool.query<{ state: string }>(
    `SELECT concat_ws(' ', status, last_error) AS state FROM delivery_job WHERE id = $1`,
    [jobId],
  );
  return rows[0]?.state;
}

/** Until so many connections wait for another's lock. */
const blocked = (least: number) =>
  waitUntil(
    async () => {
      const { rows } = await pool.query(
        'SELECT FROM pg_stat_activity WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0',
      );
      return rows.length >= least;
    },
    { what: `${least} to wait for a lock` },
  );

async function suppress(address: string, until: string | null = null) {
  await pool.query(
    `INSERT INTO mail_suppression (address, reason, since, until) VALUES (lower($1), 'address_unknown', now(), $2::timestamptz)`,
    [address, until],
  );
}

describe('adding an address', () => {
  test('adds it unverified, beside the others, with a line in the audit', async () => {
    const added = await add('Second@Example.test');
    expect(added).toMatchObject({ added: true, account: { id: accountId, login }, primary: false });
    expect(await shown()).toEqual([`${first} primary verified`, 'Second@Example.test']);
    expect(await audit()).toEqual(['address.added Second@Example.test']);
  });

  test('again, in whatever case, changes nothing: it is the same row', async () => {
    const added = await add('second@example.test');
    const again = await add('SECOND@example.test');
    expect(again).toMatchObject({ id: added.id, added: false, address: 'second@example.test' });
    expect(await audit()).toHaveLength(1);
  });

  test('of one that is verified is refused', async () => {
    expect(await problemOf(add(first.toUpperCase()))).toBe('already_verified');
  });

  test('by an operator verifies it, one that waits too', async () => {
    await add('waits@example.test');
    await add('waits@example.test', true);
    await add('new@example.test', true);
    expect(await shown()).toEqual([
      `${first} primary verified`,
      'waits@example.test verified',
      'new@example.test verified',
    ]);
    expect(await audit()).toEqual([
      'address.verified new@example.test',
      'address.added new@example.test',
      'address.verified waits@example.test',
      'address.added waits@example.test',
    ]);
  });

  test('stops at ten, also when many are asked for at once', async () => {
    const tries = await Promise.allSettled(
      Array.from({ length: 14 }, (_, n) => add(`n${n}@example.test`)),
    );
    expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(MAX_ADDRESSES - 1);
    expect(await problemOf(add('more@example.test'))).toBe('too_many_addresses');
  });

  test.each(['nobody', 'a@b@c', 'a@example.test\r\nBcc: x@y.test', 'a\0@example.test', '@x.test'])(
    'of %j is refused',
    async (address) => {
      expect(await problemOf(add(address))).toBe('bad_email');
    },
  );

  test('that is suppressed is refused, as its mail would not be sent; an ended suppression is none', async () => {
    const [bounced, mended] = [`Bounced${people}@example.test`, `mended${people}@example.test`];
    await suppress(bounced);
    await pool.query(
      `INSERT INTO mail_suppression (address, reason, since, until) VALUES ($1, 'x', now() - interval '2 days', now() - interval '1 day')`,
      [mended],
    );
    expect(await problemOf(add(bounced))).toBe('suppressed_address');
    await add(mended);
  });
});

describe('verifying', () => {
  test('by the row of a link, once', async () => {
    const { id } = await add('second@example.test');
    const byLink = () => verifyAddress(pool, queue, { addressId: id, actor: 'link' });
    expect(await byLink()).toBe('verified');
    expect(await byLink()).toBe('unchanged');
    const [line] = await listAudit(pool, { account: login });
    expect(line).toMatchObject({ action: 'address.verified', actor: login, tokenId: null });
  });

  test('finds no row that was removed, though the address was added again', async () => {
    const { id } = await add('second@example.test');
    await remove('second@example.test');
    await add('second@example.test');
    expect(await verifyAddress(pool, queue, { addressId: id, actor: 'link' })).toBe('absent');
    expect(await verify('third@example.test')).toBe('absent');
    expect(await shown()).toEqual([`${first} primary verified`, 'second@example.test']);
  });

  test('ends the verification mail that still waits, and no other mail', async () => {
    const address = 'second@example.test';
    await add(address);
    const [link, comment] = [
      await queued(address, 'address.added'),
      await queued(address, 'comment.created'),
    ];
    await verify(address);
    expect(await stateOf(link)).toBe('cancelled address_verified');
    expect(await stateOf(comment)).toBe('pending');
  });

  test('makes it primary where mail went nowhere', async () => {
    await pool.query('UPDATE email_address SET is_primary = false WHERE account_id = $1', [
      accountId,
    ]);
    await add('second@example.test');
    await verify('second@example.test');
    expect(await shown()).toEqual([`${first} verified`, 'second@example.test primary verified']);
  });
});

describe('a verification mail that is asked for again', () => {
  const address = 'second@example.test';

  test('is sent while its row is unverified and its link works', async () => {
    await add(address);
    const job = await delivered(address, 'address.added');
    expect(await retryJob(pool, queue, job)).toMatchObject({ result: 'done' });
  });

  test('is refused once the row was verified, or the link expired', async () => {
    await add(address);
    const [job, old] = [
      await delivered(address, 'address.added'),
      await delivered(address, 'address.added', -1000),
    ];
    expect(await retryJob(pool, queue, old)).toMatchObject({
      reason: 'its link has expired: adding the address again sends a new one',
    });
    await verify(address);
    expect(await retryJob(pool, queue, job)).toMatchObject({
      reason: 'its address was verified meanwhile',
    });
  });

  test('is refused once its row was removed, though the address was added again: its link is dead', async () => {
    await add(address);
    const job = await delivered(address, 'address.added');
    await remove(address);
    await add(address);
    expect(await retryJob(pool, queue, job)).toMatchObject({ result: 'refused' });
  });
});

describe('another primary address', () => {
  test('gets the mail from now on; what waits for the former one still goes there', async () => {
    await add('second@example.test', true);
    const waiting = await queued(first, 'comment.created');
    expect(await prefer('Second@example.test')).toBe('changed');
    expect(await prefer('second@example.test')).toBe('unchanged');
    expect(await shown()).toEqual([`${first} verified`, 'second@example.test primary verified']);
    expect(await stateOf(waiting)).toBe('pending');
    expect((await listAudit(pool, { account: login }))[0]).toMatchObject({
      action: 'address.made_primary',
      detail: { address: 'second@example.test', before: first },
    });
  });

  test('must be there, verified, and not suppressed', async () => {
    const bounced = `second${people}@example.test`;
    await add('waits@example.test');
    await add(bounced, true);
    await suppress(bounced, '2999-01-01T00:00:00Z');
    expect(await prefer('absent@example.test')).toBe('absent');
    expect(await problemOf(prefer('waits@example.test'))).toBe('unverified_address');
    expect(await problemOf(prefer(bounced))).toBe('suppressed_address');
    expect((await shown())[0]).toBe(`${first} primary verified`);
  });

  test('is one, however many are asked for at once', async () => {
    for (let n = 0; n < 5; n += 1) await add(`n${n}@example.test`, true);
    await Promise.all(Array.from({ length: 10 }, (_, n) => prefer(`n${n % 5}@example.test`)));
    expect((await shown()).filter((one) => one.includes('primary'))).toHaveLength(1);
  });
});

describe('removing an address', () => {
  test('cancels every mail that waits for it, visibly, and no mail to another', async () => {
    const address = 'Second@example.test';
    await add(address);
    const gone = [await queued(address, 'address.added'), await queued(address, 'comment.created')];
    const other = await queued(first, 'comment.created');
    expect(await remove('second@EXAMPLE.test')).toBe('removed');
    expect(await remove(address)).toBe('absent');
    for (const job of gone) expect(await stateOf(job)).toBe('cancelled address_removed');
    expect(await stateOf(other)).toBe('pending');
    expect((await audit())[0]).toBe(`address.removed ${address}`);
  });

  test('is final for mails of threads: none is sent again, until the address is back and verified', async () => {
    const address = 'second@example.test';
    await add(address, true);
    const job = await delivered(address, 'comment.created');
    await remove(address);
    const refused = {
      result: 'refused',
      reason: 'its address was removed from the account, or is not verified',
    };
    expect(await retryJob(pool, queue, job)).toMatchObject(refused);
    await add(address);
    expect(await retryJob(pool, queue, job)).toMatchObject(refused);
    await verify(address);
    expect(await retryJob(pool, queue, job)).toMatchObject({ result: 'done' });
  });

  test('of several names each in the audit, with the mails that waited for it', async () => {
    const [one, two] = ['One@example.test', 'two@other.test'];
    for (const address of [one, two]) await add(address);
    const gone = [await queued(one, 'address.added'), await queued(two, 'address.added')];
    gone.push(await queued(two, 'comment.created'));
    expect(await remove(two, one, two.toUpperCase())).toBe('removed');
    for (const job of gone) expect(await stateOf(job)).toBe('cancelled address_removed');
    const lines = await listAudit(pool, { account: login, limit: 2 });
    expect(lines.map(({ action, detail }) => [action, detail])).toEqual([
      ['address.removed', { address: one, mails_cancelled: 1 }],
      ['address.removed', { address: two, mails_cancelled: 2 }],
    ]);
  });

  test('of several takes none when one is absent, or the primary one, which it places', async () => {
    await add('second@example.test');
    expect(await remove('second@example.test', 'absent@example.test')).toBe('absent');
    await expect(remove('second@example.test', first)).rejects.toMatchObject({
      problem: 'primary_address',
      place: 1,
    });
    expect(await shown()).toHaveLength(2);
  });

  test('is refused for the primary one, as mail would go nowhere', async () => {
    expect(await problemOf(remove(first))).toBe('primary_address');
    expect(await shown()).toEqual([`${first} primary verified`]);
  });

  test('waits for a fan-out page that has the row in its hands', async () => {
    const { id } = await add('second@example.test');
    let removed: Promise<string> | undefined;
    await inTransaction(pool, async (tx) => {
      await sqlOf(tx).query('SELECT FROM email_address WHERE id = $1 FOR KEY SHARE', [id]);
      removed = remove('second@example.test');
      await blocked(1);
    });
    expect(await removed).toBe('removed');
  });

  test('of several by two accounts, in other orders, lets neither wait for the other half-way', async () => {
    const mine = accountId;
    const [one, two] = [`${login}@one.test`, `${login}@two.test`];
    for (const address of [one, two]) {
      await add(address);
      await queued(address, 'address.added');
    }
    const other = await addAccount(pool, { login: `other-${people}`, email: first });
    accountId = other.id;
    const [their, theirs] = [`other-${people}@two.test`, `other-${people}@one.test`];
    const added = await add(their);
    await queued(their, 'address.added');
    const last = await add(theirs);
    await queued(theirs, 'address.added');
    const removals: Promise<string>[] = [];
    // Stops the other account's removal at its last row.
    await inTransaction(pool, async (tx) => {
      await sqlOf(tx).query('SELECT FROM email_address WHERE id = $1 FOR KEY SHARE', [last.id]);
      removals.push(remove(their, theirs));
      await blocked(1);
      accountId = mine;
      removals.push(remove(one, two));
      await Promise.race([removals[1], blocked(2)]);
    });
    expect(await Promise.all(removals)).toEqual(['removed', 'removed']);
    expect(added.id).toBeLessThan(last.id);
  });

  test('and a fan-out page of the same domain let each other through', async () => {
    const [one, two] = [`one@${login}.test`, `two@${login}.test`];
    await add(one);
    const waiting = await queued(one, 'address.added');
    const { id } = await add(two);
    let removed: Promise<string> | undefined;
    await inTransaction(pool, async (tx) => {
      const sql = sqlOf(tx);
      await sql.query('SELECT FROM email_address WHERE id = $1 FOR KEY SHARE', [id]);
      removed = remove(one, two);
      await blocked(1);
      // As the page does last: it touches the lane of its mail.
      await sql.query('SELECT FROM delivery_lane WHERE lane = $1 FOR UPDATE', [
        mailLane(two, false),
      ]);
    });
    expect(await removed).toBe('removed');
    expect(await stateOf(waiting)).toBe('cancelled address_removed');
  });

  test('and every other change is undone with the transaction that it was part of', async () => {
    await add('second@example.test', true);
    const before = [await shown(), await audit()];
    const failed = inTransaction(pool, async (tx) => {
      const ref = { accountId, actor: null };
      await addAddress(tx, { ...ref, address: `${randomUUID()}@example.test`, verified: false });
      await makePrimary(tx, { ...ref, address: 'second@example.test' });
      await removeAddresses(tx, queue, { ...ref, addresses: [first] });
      throw new Error('Changed my mind');
    });
    await expect(failed).rejects.toThrow('Changed my mind');
    expect([await shown(), await audit()]).toEqual(before);
  });
});
