import type { Pool } from '@ghost/db';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { AccountWithAddresses } from '../../../test/support/account-with-addresses.js';
import { problemOf } from '../../../test/support/problem-of.js';
import { createTestDatabase, type TestDatabase } from '../../../test/support/test-database.js';
import { MAX_ADDRESSES, verifyAddress } from './addresses.js';
import { listAudit } from './audit.js';
import { retryJob } from './jobs.js';

let database: TestDatabase;
let pool: Pool;
/** A new account for each test; its first address is the primary one. */
let me: AccountWithAddresses;

beforeAll(async () => {
  database = await createTestDatabase();
  pool = database.pool(8);
});
afterAll(() => database.drop());
beforeEach(async () => {
  me = await AccountWithAddresses.create(pool);
});

async function suppress(address: string, until: string | null = null) {
  await pool.query(
    `INSERT INTO mail_suppression (address, reason, since, until) VALUES (lower($1), 'address_unknown', now(), $2::timestamptz)`,
    [address, until],
  );
}

describe('adding an address', () => {
  test('adds it unverified, beside the others, with a line in the audit', async () => {
    const added = await me.add('Second@Example.test');
    expect(added).toMatchObject({
      added: true,
      account: { id: me.id, login: me.login },
      primary: false,
    });
    expect(await me.shown()).toEqual([`${me.first} primary verified`, 'Second@Example.test']);
    expect(await me.audit()).toEqual(['address.added Second@Example.test']);
  });

  test('again, in whatever case, changes nothing: it is the same row', async () => {
    const added = await me.add('second@example.test');
    const again = await me.add('SECOND@example.test');
    expect(again).toMatchObject({ id: added.id, added: false, address: 'second@example.test' });
    expect(await me.audit()).toHaveLength(1);
  });

  test('of one that is verified is refused', async () => {
    expect(await problemOf(me.add(me.first.toUpperCase()))).toBe('already_verified');
  });

  test('by an operator verifies it, one that waits too', async () => {
    await me.add('waits@example.test');
    await me.add('waits@example.test', true);
    await me.add('new@example.test', true);
    expect(await me.shown()).toEqual([
      `${me.first} primary verified`,
      'waits@example.test verified',
      'new@example.test verified',
    ]);
    expect(await me.audit()).toEqual([
      'address.verified new@example.test',
      'address.added new@example.test',
      'address.verified waits@example.test',
      'address.added waits@example.test',
    ]);
  });

  test('stops at ten, also when many are asked for at once', async () => {
    const tries = await Promise.allSettled(
      Array.from({ length: 14 }, (_, n) => me.add(`n${n}@example.test`)),
    );
    expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(MAX_ADDRESSES - 1);
    expect(await problemOf(me.add('more@example.test'))).toBe('too_many_addresses');
  });

  test.each(['nobody', 'a@b@c', 'a@example.test\r\nBcc: x@y.test', 'a\0@example.test', '@x.test'])(
    'of %j is refused',
    async (address) => {
      expect(await problemOf(me.add(address))).toBe('bad_email');
    },
  );

  test('that is suppressed is refused, as its mail would not be sent; an ended suppression is none', async () => {
    const [bounced, mended] = [
      `Bounced${me.number}@example.test`,
      `mended${me.number}@example.test`,
    ];
    await suppress(bounced);
    await pool.query(
      `INSERT INTO mail_suppression (address, reason, since, until) VALUES ($1, 'x', now() - interval '2 days', now() - interval '1 day')`,
      [mended],
    );
    expect(await problemOf(me.add(bounced))).toBe('suppressed_address');
    await me.add(mended);
  });
});

describe('verifying', () => {
  test('by the row of a link, once', async () => {
    const { id } = await me.add('second@example.test');
    const byLink = () => verifyAddress(pool, me.queue, { addressId: id, actor: 'link' });
    expect(await byLink()).toBe('verified');
    expect(await byLink()).toBe('unchanged');
    const [line] = await listAudit(pool, { account: me.login });
    expect(line).toMatchObject({ action: 'address.verified', actor: me.login, tokenId: null });
  });

  test('finds no row that was removed, though the address was added again', async () => {
    const { id } = await me.add('second@example.test');
    await me.remove('second@example.test');
    await me.add('second@example.test');
    expect(await verifyAddress(pool, me.queue, { addressId: id, actor: 'link' })).toBe('absent');
    expect(await me.verify('third@example.test')).toBe('absent');
    expect(await me.shown()).toEqual([`${me.first} primary verified`, 'second@example.test']);
  });

  test('ends the verification mail that still waits, and no other mail', async () => {
    const address = 'second@example.test';
    await me.add(address);
    const [link, comment] = [
      await me.queued(address, 'address.added'),
      await me.queued(address, 'comment.created'),
    ];
    await me.verify(address);
    expect(await me.stateOf(link)).toBe('cancelled address_verified');
    expect(await me.stateOf(comment)).toBe('pending');
  });

  test('makes it primary where mail went nowhere', async () => {
    await pool.query('UPDATE email_address SET is_primary = false WHERE account_id = $1', [me.id]);
    await me.add('second@example.test');
    await me.verify('second@example.test');
    expect(await me.shown()).toEqual([
      `${me.first} verified`,
      'second@example.test primary verified',
    ]);
  });
});

describe('a verification mail that is asked for again', () => {
  const address = 'second@example.test';

  test('is sent while its row is unverified and its link works', async () => {
    await me.add(address);
    const job = await me.delivered(address, 'address.added');
    expect(await retryJob(pool, me.queue, job)).toMatchObject({ result: 'done' });
  });

  test('is refused once the row was verified, or the link expired', async () => {
    await me.add(address);
    const [job, old] = [
      await me.delivered(address, 'address.added'),
      await me.delivered(address, 'address.added', -1000),
    ];
    expect(await retryJob(pool, me.queue, old)).toMatchObject({
      reason: 'its link has expired: adding the address again sends a new one',
    });
    await me.verify(address);
    expect(await retryJob(pool, me.queue, job)).toMatchObject({
      reason: 'its address was verified meanwhile',
    });
  });

  test('is refused once its row was removed, though the address was added again: its link is dead', async () => {
    await me.add(address);
    const job = await me.delivered(address, 'address.added');
    await me.remove(address);
    await me.add(address);
    expect(await retryJob(pool, me.queue, job)).toMatchObject({ result: 'refused' });
  });
});

describe('another primary address', () => {
  test('gets the mail from now on; what waits for the former one still goes there', async () => {
    await me.add('second@example.test', true);
    const waiting = await me.queued(me.first, 'comment.created');
    expect(await me.prefer('Second@example.test')).toBe('changed');
    expect(await me.prefer('second@example.test')).toBe('unchanged');
    expect(await me.shown()).toEqual([
      `${me.first} verified`,
      'second@example.test primary verified',
    ]);
    expect(await me.stateOf(waiting)).toBe('pending');
    expect((await listAudit(pool, { account: me.login }))[0]).toMatchObject({
      action: 'address.made_primary',
      detail: { address: 'second@example.test', before: me.first },
    });
  });

  test('must be there, verified, and not suppressed', async () => {
    const bounced = `second${me.number}@example.test`;
    await me.add('waits@example.test');
    await me.add(bounced, true);
    await suppress(bounced, '2999-01-01T00:00:00Z');
    expect(await me.prefer('absent@example.test')).toBe('absent');
    expect(await problemOf(me.prefer('waits@example.test'))).toBe('unverified_address');
    expect(await problemOf(me.prefer(bounced))).toBe('suppressed_address');
    expect((await me.shown())[0]).toBe(`${me.first} primary verified`);
  });

  test('is one, however many are asked for at once', async () => {
    for (let n = 0; n < 5; n += 1) await me.add(`n${n}@example.test`, true);
    await Promise.all(Array.from({ length: 10 }, (_, n) => me.prefer(`n${n % 5}@example.test`)));
    expect((await me.shown()).filter((one) => one.includes('primary'))).toHaveLength(1);
  });
});
