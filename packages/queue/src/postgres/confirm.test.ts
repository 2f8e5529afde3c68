import { randomUUID } from 'node:crypto';

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { createTestDatabase, type TestDatabase } from '../../../../test/support/test-database.js';
import { enqueueMail, postgresHarness } from '../../conformance/queue-harness.js';
import type { ClaimedJob, Queue } from '../queue.js';

const ADDRESS = 'Reader@Mail.example';

let database: TestDatabase;
let harness: ReturnType<typeof postgresHarness>;
let queue: Queue;
let accountId: number;
let addressId: number;

beforeAll(async () => {
  database = await createTestDatabase();
  harness = postgresHarness(database.url);
  queue = harness.engine();
});
afterAll(async () => {
  await harness.close();
  await database.drop();
});
beforeEach(async () => {
  await harness.clear();
  accountId = await idOf(
    `INSERT INTO account (login, name) VALUES ('r' || substr(md5(random()::text), 1, 12), 'Reader') RETURNING id`,
  );
  addressId = await addAddress(true);
});

const idOf = async (text: string, values: unknown[] = []) =>
  Number((await harness.pool.query<{ id: string }>(text, values)).rows[0]?.id);
const addAddress = (verified: boolean, address = ADDRESS) =>
  idOf(
    `INSERT INTO email_address (account_id, address, verified_at)
     VALUES ($1, $2, CASE WHEN $3 THEN now() END) RETURNING id`,
    [accountId, address, verified],
  );
const removeAddress = () =>
  harness.pool.query('DELETE FROM email_address WHERE id = $1', [addressId]);

async function claimed(jobId: string): Promise<ClaimedJob> {
  const { jobs } = await queue.claim({ kind: 'email', version: 1, jobs: 100, lanes: 100 });
  const job = jobs.find(({ id }) => id === jobId);
  if (!job) throw new Error(`Job ${jobId} was not claimed`);
  return job;
}

describe('a mail to a reader', () => {
  const mail = async () => claimed(await enqueueMail(harness, queue, accountId, ADDRESS));

  test('may go to a verified address of its account, in whatever case it is written', async () => {
    const job = await mail();
    expect(await queue.confirm(job)).toBe('current');
    await harness.pool.query('UPDATE email_address SET address = lower(address) WHERE id = $1', [
      addressId,
    ]);
    expect(await queue.confirm(job)).toBe('current');
  });

  test('may not go to one that was removed, added again unverified, or is another’s', async () => {
    const job = await mail();
    await removeAddress();
    expect(await queue.confirm(job)).toBe('address_removed');
    await addAddress(false);
    expect(await queue.confirm(job)).toBe('address_removed');
    await harness.pool.query('DELETE FROM email_address WHERE account_id = $1', [accountId]);
    const mine = accountId;
    accountId = await idOf(
      `INSERT INTO account (login, name) VALUES ('o' || substr(md5(random()::text), 1, 12), 'Other') RETURNING id`,
    );
    await addAddress(true);
    expect(mine).not.toBe(accountId);
    expect(await queue.confirm(job)).toBe('address_removed');
  });

  test('is lost before all else once the lease is', async () => {
    const job = await mail();
    await removeAddress();
    expect(await queue.confirm({ ...job, leaseNo: job.leaseNo + 1 })).toBe('lost');
    await harness.clear();
    expect(await queue.confirm(job)).toBe('lost');
  });
});

describe('a mail that asks for verification', () => {
  const hours = (count: number) => new Date(Date.now() + count * 3_600_000).toISOString();

  /** For the row `addressId`, as fan-out makes it of `address.added`. */
  async function mail(more: Record<string, unknown> = {}) {
    const id = await enqueueMail(harness, queue, accountId, ADDRESS);
    const payload = { address_id: addressId, address: ADDRESS, expires_at: hours(72), ...more };
    await harness.pool.query(
      `UPDATE outbox_event SET type = 'address.added', payload = $2
       WHERE id = (SELECT event_id FROM delivery_job WHERE id = $1)`,
      [id, payload],
    );
    return claimed(id);
  }

  beforeEach(async () => {
    await removeAddress();
    addressId = await addAddress(false);
  });

  test('may go while its row is unverified', async () => {
    expect(await queue.confirm(await mail())).toBe('current');
  });

  test('may not go once the row was verified', async () => {
    const job = await mail();
    await harness.pool.query('UPDATE email_address SET verified_at = now() WHERE id = $1', [
      addressId,
    ]);
    expect(await queue.confirm(job)).toBe('address_verified');
  });

  test('may not go once the row was removed, though the address was added again', async () => {
    const job = await mail();
    await removeAddress();
    await addAddress(false);
    expect(await queue.confirm(job)).toBe('address_removed');
  });

  test('may not go once its link has expired', async () => {
    expect(await queue.confirm(await mail({ expires_at: hours(-1) }))).toBe('link_expired');
  });

  test('may not go where its event names no row', async () => {
    const none = { address_id: null, expires_at: null };
    expect(await queue.confirm(await mail(none))).toBe('address_removed');
    expect(await queue.confirm(await mail({ address_id: randomUUID() }))).toBe('address_removed');
  });
});
