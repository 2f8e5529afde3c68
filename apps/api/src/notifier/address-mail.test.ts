import { type EventPayload, joinMail, mailContent, mailOwn } from '@ghost/contract';
import { removeAddresses } from '@ghost/operations';
import { sqlOf } from '@ghost/queue';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { FanoutWorld } from '../../../../test/support/fanout-world.js';
import { untilBlocked } from '../../../../test/support/until-blocked.js';
import type { FanoutEvent, FanoutPage } from '../outbox/fanout-consumer.js';

const NOW = new Date('2026-01-02T03:04:05Z');
const LINK = 'https://ghost.example/api/verify-address/TOKEN';

let world: FanoutWorld;
let accountId: number;
let addressId: number;
let people = 0;
let address: string;

beforeAll(async () => {
  world = await FanoutWorld.create();
});
afterAll(() => world.stop());
beforeEach(async () => {
  people += 1;
  address = `Second-${people}@Mail.example`;
  accountId = await world.account({ name: 'Click http://evil.example' });
  const { rows } = await world.pool.query<{ id: string }>(
    'INSERT INTO email_address (account_id, address) VALUES ($1, $2) RETURNING id',
    [accountId, address],
  );
  addressId = Number(rows[0]?.id);
});

const payload = (): EventPayload<'address.added'> => ({
  account: { id: accountId, login: 'ada', name: 'Click http://evil.example' },
  address_id: addressId,
  address,
  verification_url: LINK,
  expires_at: new Date(Date.now() + 3_600_000).toISOString(),
});

async function event(
  more: Partial<EventPayload<'address.added'>> = {},
): Promise<FanoutEvent & { payload: EventPayload<'address.added'> }> {
  const full = { ...payload(), ...more };
  const id = await world.publish({ type: 'address.added', repositoryId: null, payload: full });
  return {
    id,
    type: 'address.added',
    version: 1,
    repositoryId: null,
    payload: full,
    createdAt: NOW,
  };
}

const page = (of: FanoutEvent): Promise<FanoutPage> =>
  world.db.transaction((tx) => world.notifier.page(tx, of, null));
const skipped = (reason: string) => ({
  jobs: [],
  skips: [{ targetKind: 'account', targetId: accountId, reason }],
  cursor: null,
});

describe('the mail to an address that was added', () => {
  test('is one job for that address alone, with a key that a second page repeats', async () => {
    const added = await event();
    const { jobs, skips, cursor } = await page(added);
    expect({ skips, cursor }).toEqual({ skips: [], cursor: null });
    expect(jobs).toMatchObject([
      {
        idempotencyKey: `email:${added.id}:${accountId}`,
        lane: 'mail:mail.example',
        repositoryId: null,
        accountId,
        own: { to: { name: 'ada', address } },
      },
    ]);
    expect((await page(added)).jobs[0]).toMatchObject({
      idempotencyKey: jobs[0]?.idempotencyKey,
      contentId: jobs[0]?.contentId,
    });
  });

  test('holds the link and its end, is machine-made, and no list’s', async () => {
    const added = await event({ expires_at: '2999-01-05T03:04:05.000Z' });
    const [job] = (await page(added)).jobs;
    const { rows } = await world.pool.query<{ parts: unknown }>(
      'SELECT parts FROM delivery_content WHERE id = $1',
      [job?.contentId],
    );
    const message = joinMail(
      mailContent.parse(rows[0]?.parts),
      mailOwn.parse(job?.own),
      job?.id ?? '',
    );
    expect(message.headers).toEqual({
      'Auto-Submitted': 'auto-generated',
      'X-Auto-Response-Suppress': 'All',
      'X-Ghost-Reason': 'verification',
    });
    expect(message.text.split('\n')).toContain(LINK);
    expect(message.text).toContain('2999-01-05 03:04 UTC');
    expect(message.text).toContain('"ada"');
    // A name is free text: in a mail to a stranger it would be an advertisement.
    expect(JSON.stringify(message)).not.toContain('evil');
    expect(message).toMatchObject({
      from: { name: 'Ghost', address: 'noreply@ghost.example' },
      date: '2026-01-02T03:04:05.000Z',
      messageId: `<${job?.id}@ghost.example>`,
    });
  });

  test('is left out, with the reason, when the address was removed or is another’s row', async () => {
    const added = await event();
    await world.pool.query('DELETE FROM email_address WHERE id = $1', [addressId]);
    expect(await page(added)).toEqual(skipped('address_removed'));
    await world.pool.query('INSERT INTO email_address (account_id, address) VALUES ($1, $2)', [
      accountId,
      address,
    ]);
    expect(await page(added)).toEqual(skipped('address_removed'));
  });

  test('is left out when the address was verified meanwhile', async () => {
    const added = await event();
    await world.pool.query('UPDATE email_address SET verified_at = now() WHERE id = $1', [
      addressId,
    ]);
    expect(await page(added)).toEqual(skipped('address_verified'));
  });

  test('is left out when its link has expired', async () => {
    const added = await event({ expires_at: new Date(Date.now() - 1000).toISOString() });
    expect(await page(added)).toEqual(skipped('link_expired'));
  });

  test('is left out for an event of before it named the address’s row and the link’s end', async () => {
    const added = await event();
    const { address_id: _row, expires_at: _end, ...old } = added.payload;
    expect(await page({ ...added, payload: old })).toEqual(skipped('outdated_event'));
  });

  test('is left out when that address, and no other, is suppressed', async () => {
    await world.pool.query(
      `INSERT INTO mail_suppression (address, reason, since) VALUES ('other@mail.example', 'x', now()) ON CONFLICT DO NOTHING`,
    );
    expect((await page(await event())).jobs).toHaveLength(1);
    await world.pool.query(
      `INSERT INTO mail_suppression (address, reason, since) VALUES (lower($1), 'x', now())`,
      [address],
    );
    expect(await page(await event())).toEqual(skipped('suppressed'));
  });
});

test('a removal waits for the open page, and then ends its mail', async () => {
  const added = await event();
  let removed: Promise<string> | undefined;
  await world.db.transaction(async (tx) => {
    const { jobs } = await world.notifier.page(tx, added, null);
    const wish = { accountId, addresses: [address], actor: null };
    removed = removeAddresses(world.pool, world.queue, wish);
    await untilBlocked(world.pool, 'the removal to wait');
    await world.queue.enqueue(sqlOf(tx), jobs);
  });
  expect(await removed).toBe('removed');
  const { rows } = await world.pool.query(
    'SELECT status, last_error FROM delivery_job WHERE event_id = $1',
    [added.id],
  );
  expect(rows).toEqual([{ status: 'cancelled', last_error: 'address_removed' }]);
});
