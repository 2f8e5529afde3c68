import { hookLane } from '@ghost/queue';
import { beforeEach, expect, onTestFinished, test } from 'vitest';

import { gate } from '../../../test/support/gate.js';
import { holdRow } from '../../../test/support/hold-row.js';
import type { DeliverySeed } from '../../../test/support/delivery-seed.js';
import { seededDatabase, startWorker } from '../../../test/support/delivery-worker.js';
import { receiver } from '../../../test/support/servers-of-a-test.js';
import { waitUntil } from '../../../test/support/wait-until.js';

const LEASE_MS = 1_500;
const OTHERS = 10;

let databaseUrl: string;
let seed: DeliverySeed;
beforeEach(async () => {
  ({ databaseUrl, seed } = await seededDatabase());
});

test('a lane that somebody holds for longer than a lease holds up no other, and none of those is sent twice', async () => {
  const answer = gate();
  const held = await receiver(async () => {
    await answer.opened;
    return 200;
  });
  const target = await receiver();
  const slow = await receiver(async () => {
    await new Promise((resolve) => setTimeout(resolve, 2.5 * LEASE_MS));
    return 200;
  });
  const hook = await seed.hook(held.url);
  // Claimed together, so that their leases are extended together.
  const [, long = ''] = await seed.webhooks([hook, await seed.hook(slow.url)]);
  await startWorker(databaseUrl, { leaseMs: LEASE_MS });
  await Promise.all([held.waitForRequests(1), slow.waitForRequests(1)]);
  await startWorker(databaseUrl, { leaseMs: LEASE_MS });
  const release = await holdRow(seed.pool, 'delivery_lane', 'lane', hookLane(hook));
  onTestFinished(release);
  answer.open();

  const others = await Promise.all(Array.from({ length: OTHERS }, () => seed.hook(target.url)));
  const quick = [...(await seed.webhooks(others)), ...(await seed.webhooks(others))];
  await delivered(quick);
  await delivered([long]);
  expect(target.requests()).toHaveLength(2 * OTHERS);
  expect(slow.requests()).toHaveLength(1);

  await release();
  await waitUntil(async () => (await seed.jobs()).every(({ status }) => status === 'delivered'), {
    what: 'what goes to the lane that was held',
  });
});

test('leases that are due together with one whose job somebody holds are extended beside it', async () => {
  const leaseMs = 9_000;
  const answer = gate();
  const target = await receiver(() => answer.opened.then(() => 200));
  const [hook, other] = [await seed.hook(target.url), await seed.hook(target.url)];
  const [first = '', ...others] = await seed.webhooks([hook, hook, hook, other]);
  await seed.pool.query(
    `UPDATE delivery_lane SET earned = 10, standing = 'proven', last_success_at = now()`,
  );
  await startWorker(databaseUrl, { leaseMs });
  await target.waitForRequests(1 + others.length);
  const ends = await leaseEnds();
  const release = await holdRow(seed.pool, 'delivery_job', 'id', first);
  onTestFinished(release);
  const extended = async () => {
    const now = await leaseEnds();
    return others.every((id) => (now.get(id) ?? 0) > (ends.get(id) ?? 0));
  };
  await waitUntil(extended, { what: 'the leases of the others to be extended' });
  expect((await leaseEnds()).get(first)).toBe(ends.get(first));
  await release();
  answer.open();
  await delivered([first, ...others]);
  expect(target.requests()).toHaveLength(1 + others.length);
});

test('a job that somebody holds before it is claimed holds up no other lane, and is sent once it is let go', async () => {
  const target = await receiver();
  const [hook, ...others] = await Promise.all(
    Array.from({ length: 1 + OTHERS }, () => seed.hook(target.url)),
  );
  // Due for longest, so every claim meets it first.
  const [held = ''] = await seed.webhooks([hook ?? 0]);
  const release = await holdRow(seed.pool, 'delivery_job', 'id', held);
  onTestFinished(release);
  const { lines } = await startWorker(databaseUrl);
  await delivered(await seed.webhooks(others));
  await delivered(await seed.webhooks(others));
  expect(target.requests()).toHaveLength(2 * OTHERS);
  expect(lines.find(({ event }) => event === 'delivery.jobs_held')).toMatchObject({
    kind: 'webhook',
    lanes: [hookLane(hook ?? 0)],
  });

  await release();
  await seed.pool.query('UPDATE delivery_lane SET not_before = NULL, next_at = now()');
  await seed.pool.query(`SELECT pg_notify('ghost_delivery', '')`);
  await delivered([held]);
  expect(target.requests()).toHaveLength(2 * OTHERS + 1);
});

async function leaseEnds(): Promise<Map<string, number>> {
  const { rows } = await seed.pool.query<{ id: string; ends: number }>(
    `SELECT id, extract(epoch FROM lease_until)::float8 AS ends FROM delivery_job`,
  );
  return new Map(rows.map(({ id, ends }) => [id, ends]));
}

async function delivered(ids: readonly string[]): Promise<void> {
  const ended = async () =>
    (await seed.jobs()).filter(({ id, status }) => status === 'delivered' && ids.includes(id));
  await waitUntil(async () => (await ended()).length === ids.length, {
    what: 'what goes to other lanes',
  });
}
