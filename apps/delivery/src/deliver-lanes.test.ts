import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';

import type { DeliverySeed } from '../../../test/support/delivery-seed.js';
import {
  allDelivered,
  seededDatabase,
  startWorker,
} from '../../../test/support/delivery-worker.js';
import { waitUntil } from '../../../test/support/wait-until.js';
import { type ReceiverHandler, startReceiver } from '../../../test/support/webhook-receiver.js';

let databaseUrl: string;
let seed: DeliverySeed;
beforeEach(async () => {
  ({ databaseUrl, seed } = await seededDatabase());
});

async function receiver(handler?: ReceiverHandler) {
  const started = await startReceiver(handler);
  onTestFinished(() => started.stop());
  return started;
}

async function hooks(url: string, count: number): Promise<number[]> {
  const made: number[] = [];
  for (let n = 0; n < count; n += 1) made.push(await seed.hook(url));
  return made;
}

describe('a bad destination hurts only itself', () => {
  test('many that hang share a third of the slots, and one that hangs has one', async () => {
    const hung = await receiver(() => 'hang');
    const quick = await receiver();
    const bad = await hooks(`${hung.url}/hang`, 30);
    await seed.webhooks([...bad, ...bad], { fresh: true });
    const worker = await startWorker(databaseUrl, { concurrency: 20, deadlineMs: 60_000 });
    await hung.waitForRequests(6);
    const fine = await seed.hook(quick.url);
    await seed.webhooks(Array.from({ length: 50 }, () => fine));
    await quick.waitForRequests(50);
    expect(hung.requests()).toHaveLength(6);
    expect(worker.inHand.size).toBeLessThanOrEqual(20);
  });

  test('a lane that only fails is probed by one job, and the rest is not charged', async () => {
    const failing = await receiver(() => ({ status: 500 }));
    const hook = await seed.hook(failing.url);
    await seed.webhooks(Array.from({ length: 30 }, () => hook));
    await startWorker(databaseUrl, { retryBaseMs: 3_600_000 });
    await waitUntil(
      async () => {
        const { rows } = await seed.pool.query<{ rests: boolean }>(
          'SELECT failures >= 5 AND not_before > now() AS rests FROM delivery_lane',
        );
        return rows[0]?.rests === true;
      },
      { what: 'the breaker to open' },
    );
    // No more than what was in flight before the fifth failure was written.
    expect(failing.requests().length).toBeLessThanOrEqual(20);
    const { rows } = await seed.pool.query<{ uncharged: number }>(
      `SELECT count(*)::integer AS uncharged FROM delivery_job WHERE attempts = 0 AND lease_until IS NULL`,
    );
    expect(rows[0]?.uncharged).toBeGreaterThanOrEqual(10);
  });
});

test('a hook with a rate limit gets what it allows, evenly, and holds up no other', async () => {
  const [limited, other] = [await receiver(), await receiver()];
  const [slow, quick] = [await seed.hook(limited.url), await seed.hook(other.url)];
  // Four at once, then one each 253 ms.
  await seed.pool.query(`SELECT delivery_limit_rate($1, 'webhook', 1::smallint, 240)`, [
    `hook:${slow}`,
  ]);
  await seed.webhooks([slow, quick].flatMap((hook) => Array.from({ length: 7 }, () => hook)));
  await startWorker(databaseUrl);
  await Promise.all([other.waitForRequests(7), limited.waitForRequests(7)]);
  await allDelivered(seed);
  const { rows } = await seed.pool.query<{ took_ms: number }>(
    `SELECT extract(epoch FROM max(started_at) - min(started_at))::float8 * 1000 AS took_ms
     FROM delivery_attempt WHERE hook_id = $1`,
    [slow],
  );
  expect(rows[0]?.took_ms).toBeGreaterThan(3 * 253 - 100);
});

test('what two workers died of is sent alone, and everything is delivered', async () => {
  const target = await receiver();
  const ids = await seed.webhooks(await hooks(target.url, 5));
  await seed.pool.query(
    `UPDATE delivery_job SET abandoned = 2, lease_no = 2, lease_until = now() - interval '1 second' WHERE id = ANY ($1)`,
    [ids],
  );
  const most = { inHand: 0 };
  const worker = await startWorker(databaseUrl);
  worker.inHand.onChange(() => {
    most.inHand = Math.max(most.inHand, worker.inHand.size);
  });
  await allDelivered(seed);
  expect(most.inHand).toBe(1);
  expect(target.requests()).toHaveLength(5);
  const { rows } = await seed.pool.query('SELECT DISTINCT abandoned, tries FROM delivery_job');
  expect(rows).toEqual([{ abandoned: 0, tries: 1 }]);
});
