import { sqlOfPool } from '@ghost/queue';
import type { Pool } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { createTestDatabase, openPool } from '../../../../test/support/test-database.js';
import { createSuppressions, type Suppressions } from './suppressions.js';

const DAY = `interval '1 day'`;

let database: Awaited<ReturnType<typeof createTestDatabase>>;
let pool: Pool;
let suppressions: Suppressions;

beforeAll(async () => {
  database = await createTestDatabase();
  pool = openPool(database.url);
  suppressions = createSuppressions(sqlOfPool(pool));
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

let addresses = 0;

type Note = readonly [kind: 'hard' | 'soft' | 'strike', reason: string, days?: number];

/** What becomes of an address that all this is noted of, a day passing after each of it, or more. */
async function after(...notes: readonly Note[]) {
  addresses += 1;
  const address = `r${addresses}@people.example`;
  for (const [kind, reason, days = 0] of notes) {
    await suppressions.note(address, kind, reason);
    await pool.query(
      `UPDATE mail_suppression SET since = since - $2 * ${DAY}, until = until - $2 * ${DAY}, last_strike_on = last_strike_on - $2::int
       WHERE address = $1`,
      [address, days],
    );
  }
  const { rows } = await pool.query<{ reason: string; for_days: number; since_days: number }>(
    `SELECT reason, round(extract(epoch FROM until - now()) / 86400)::int AS for_days,
       round(extract(epoch FROM now() - since) / 86400)::int AS since_days FROM mail_suppression WHERE address = $1`,
    [address],
  );
  return { suppressed: (await suppressions.among([address])).size === 1, ...rows[0] };
}

const forGood = (reason: string, since = 0) => ({
  ...{ suppressed: true, reason, for_days: null, since_days: since },
});

test('two strikes on different days suppress for good; on one day they are one', async () => {
  expect(await after(['strike', 'refused'], ['strike', 'refused'])).toMatchObject({
    suppressed: false,
  });
  expect(await after(['strike', 'refused', 1], ['strike', 'refused'])).toEqual(forGood('refused'));
});

test('the second strike suppresses for good beside a soft suppression too, also after it has ended', async () => {
  const full = ['soft', 'mailbox_full'] as const;
  expect(await after([...full, 2], ['strike', 'refused', 1], ['strike', 'refused'])).toEqual(
    forGood('refused', 3),
  );
  expect(await after([...full, 9], ['strike', 'refused', 1], ['strike', 'refused'])).toEqual(
    forGood('refused'),
  );
  expect(await after(['strike', 'refused', 1], [...full, 9], ['strike', 'refused'])).toEqual(
    forGood('refused'),
  );
});

test('the first strike after a soft suppression changes nothing of it', async () => {
  expect(await after(['soft', 'mailbox_full', 2], ['strike', 'refused'])).toMatchObject({
    ...{ suppressed: true, for_days: 5 },
  });
  expect(await after(['soft', 'mailbox_full', 9], ['strike', 'refused'])).toMatchObject({
    suppressed: false,
  });
});

test('a soft one begins anew once it has ended, and goes on while it lasts', async () => {
  const full = ['soft', 'mailbox_full'] as const;
  const soft = { suppressed: true, reason: 'mailbox_full', for_days: 7 };
  expect(await after([...full, 9], full)).toEqual({ ...soft, since_days: 0 });
  expect(await after([...full, 3], full)).toEqual({ ...soft, since_days: 3 });
});

test('what is for good stays so, with its reason; a complaint outweighs every other', async () => {
  const complaint = ['hard', 'complaint', 1] as const;
  for (const late of ['hard', 'soft', 'strike'] as const) {
    expect(await after(complaint, [late, 'late'])).toEqual(forGood('complaint', 1));
  }
  expect(await after(['hard', 'address_unknown', 1], complaint)).toMatchObject({
    reason: 'complaint',
  });
  expect(await after(['soft', 'mailbox_full', 1], ['hard', 'address_unknown'])).toEqual(
    forGood('address_unknown', 1),
  );
});
