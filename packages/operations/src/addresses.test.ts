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
  removeAddress,
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
const remove = (address: string) => removeAddress(pool, queue, { accountId, address, actor: null });
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

/** A mail that waits, of a thread or of `address.added`. */
async function queued(address: string, type: 'comment.created' | 'address.added') {
  const eventId = randomUUID();
  await pool.query(
    `INSERT INTO outbox_event (id, type, version, payload) VALUES ($1, $2, 1, '{}')`,
    [eventId, type],
  );
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

async function stateOf(jobId: string) {
  const { rows } = await pool.query<{ state: string }>(
    `SELECT concat_ws(' ', status, last_error) AS state FROM delivery_job WHERE id = $1`,
    [jobId],
  );
  return rows[0]?.state;
}

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

  test('is final for its mails: none is sent again, until the address is back', async () => {
    const address = 'second@example.test';
    await add(address);
    const job = await queued(address, 'address.added');
    await remove(address);
    expect(await retryJob(pool, queue, job)).toMatchObject({
      result: 'refused',
      reason: 'its address was removed from the account',
    });
    await add(address);
    expect(await retryJob(pool, queue, job)).toMatchObject({ result: 'done' });
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
      await waitUntil(
        async () => {
          const { rows } = await pool.query(
            'SELECT FROM pg_stat_activity WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0',
          );
          return rows.length > 0;
        },
        { what: 'the removal to wait' },
      );
    });
    expect(await removed).toBe('removed');
  });

  test('and every other change is undone with the transaction that it was part of', async () => {
    await add('second@example.test', true);
    const before = [await shown(), await audit()];
    const failed = inTransaction(pool, async (tx) => {
      const ref = { accountId, actor: null };
      await addAddress(tx, { ...ref, address: `${randomUUID()}@example.test`, verified: false });
      await makePrimary(tx, { ...ref, address: 'second@example.test' });
      await removeAddress(tx, queue, { ...ref, address: first });
      throw new Error('Changed my mind');
    });
    await expect(failed).rejects.toThrow('Changed my mind');
    expect([await shown(), await audit()]).toEqual(before);
  });
});
