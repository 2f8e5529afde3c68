import { randomUUID } from 'node:crypto';

import { inTransaction, type Pool } from '@ghost/db';
import { mailLane, sqlOf } from '@ghost/queue';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { AccountWithAddresses } from '../../../test/support/account-with-addresses.js';
import { problemOf } from '../../../test/support/problem-of.js';
import { createTestDatabase, type TestDatabase } from '../../../test/support/test-database.js';
import { untilBlocked } from '../../../test/support/until-blocked.js';
import { addAddress, makePrimary, removeAddresses } from './addresses.js';
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

describe('removing an address', () => {
  test('cancels every mail that waits for it, visibly, and no mail to another', async () => {
    const address = 'Second@example.test';
    await me.add(address);
    const gone = [
      await me.queued(address, 'address.added'),
      await me.queued(address, 'comment.created'),
    ];
    const other = await me.queued(me.first, 'comment.created');
    expect(await me.remove('second@EXAMPLE.test')).toBe('removed');
    expect(await me.remove(address)).toBe('absent');
    for (const job of gone) expect(await me.stateOf(job)).toBe('cancelled address_removed');
    expect(await me.stateOf(other)).toBe('pending');
    expect((await me.audit())[0]).toBe(`address.removed ${address}`);
  });

  test('is final for mails of threads: none is sent again, until the address is back and verified', async () => {
    const address = 'second@example.test';
    await me.add(address, true);
    const job = await me.delivered(address, 'comment.created');
    await me.remove(address);
    const refused = {
      result: 'refused',
      reason: 'its address was removed from the account, or is not verified',
    };
    expect(await retryJob(pool, me.queue, job)).toMatchObject(refused);
    await me.add(address);
    expect(await retryJob(pool, me.queue, job)).toMatchObject(refused);
    await me.verify(address);
    expect(await retryJob(pool, me.queue, job)).toMatchObject({ result: 'done' });
  });

  test('of several names each in the audit, with the mails that waited for it', async () => {
    const [one, two] = ['One@example.test', 'two@other.test'];
    for (const address of [one, two]) await me.add(address);
    const gone = [await me.queued(one, 'address.added'), await me.queued(two, 'address.added')];
    gone.push(await me.queued(two, 'comment.created'));
    expect(await me.remove(two, one, two.toUpperCase())).toBe('removed');
    for (const job of gone) expect(await me.stateOf(job)).toBe('cancelled address_removed');
    const lines = await listAudit(pool, { account: me.login, limit: 2 });
    expect(lines.map(({ action, detail }) => [action, detail])).toEqual([
      ['address.removed', { address: one, mails_cancelled: 1 }],
      ['address.removed', { address: two, mails_cancelled: 2 }],
    ]);
  });

  test('of several takes none when one is absent, or the primary one, which it places', async () => {
    await me.add('second@example.test');
    expect(await me.remove('second@example.test', 'absent@example.test')).toBe('absent');
    await expect(me.remove('second@example.test', me.first)).rejects.toMatchObject({
      problem: 'primary_address',
      place: 1,
    });
    expect(await me.shown()).toHaveLength(2);
  });

  test('is refused for the primary one, as mail would go nowhere', async () => {
    expect(await problemOf(me.remove(me.first))).toBe('primary_address');
    expect(await me.shown()).toEqual([`${me.first} primary verified`]);
  });

  test('waits for a fan-out page that has the row in its hands', async () => {
    const { id } = await me.add('second@example.test');
    let removed: Promise<string> | undefined;
    await inTransaction(pool, async (tx) => {
      await sqlOf(tx).query('SELECT FROM email_address WHERE id = $1 FOR KEY SHARE', [id]);
      removed = me.remove('second@example.test');
      await untilBlocked(pool);
    });
    expect(await removed).toBe('removed');
  });

  test('of several by two accounts, in other orders, lets neither wait for the other half-way', async () => {
    const [one, two] = [`${me.login}@one.test`, `${me.login}@two.test`];
    for (const address of [one, two]) {
      await me.add(address);
      await me.queued(address, 'address.added');
    }
    const other = await AccountWithAddresses.create(pool);
    const [their, theirs] = [`${other.login}@two.test`, `${other.login}@one.test`];
    const added = await other.add(their);
    await other.queued(their, 'address.added');
    const last = await other.add(theirs);
    await other.queued(theirs, 'address.added');
    const removals: Promise<string>[] = [];
    // Stops the other account's removal at its last row.
    await inTransaction(pool, async (tx) => {
      await sqlOf(tx).query('SELECT FROM email_address WHERE id = $1 FOR KEY SHARE', [last.id]);
      removals.push(other.remove(their, theirs));
      await untilBlocked(pool);
      removals.push(me.remove(one, two));
      await Promise.race([removals[1], untilBlocked(pool, 'both', 2)]);
    });
    expect(await Promise.all(removals)).toEqual(['removed', 'removed']);
    expect(added.id).toBeLessThan(last.id);
  });

  test('and a fan-out page of the same domain let each other through', async () => {
    const [one, two] = [`one@${me.login}.test`, `two@${me.login}.test`];
    await me.add(one);
    const waiting = await me.queued(one, 'address.added');
    const { id } = await me.add(two);
    let removed: Promise<string> | undefined;
    await inTransaction(pool, async (tx) => {
      const sql = sqlOf(tx);
      await sql.query('SELECT FROM email_address WHERE id = $1 FOR KEY SHARE', [id]);
      removed = me.remove(one, two);
      await untilBlocked(pool);
      // As the page does last: it touches the lane of its mail.
      await sql.query('SELECT FROM delivery_lane WHERE lane = $1 FOR UPDATE', [
        mailLane(two, false),
      ]);
    });
    expect(await removed).toBe('removed');
    expect(await me.stateOf(waiting)).toBe('cancelled address_removed');
  });

  test('and every other change is undone with the transaction that it was part of', async () => {
    await me.add('second@example.test', true);
    const before = [await me.shown(), await me.audit()];
    const failed = inTransaction(pool, async (tx) => {
      const ref = { accountId: me.id, actor: null };
      await addAddress(tx, { ...ref, address: `${randomUUID()}@example.test`, verified: false });
      await makePrimary(tx, { ...ref, address: 'second@example.test' });
      await removeAddresses(tx, me.queue, { ...ref, addresses: [me.first] });
      throw new Error('Changed my mind');
    });
    await expect(failed).rejects.toThrow('Changed my mind');
    expect([await me.shown(), await me.audit()]).toEqual(before);
  });
});
