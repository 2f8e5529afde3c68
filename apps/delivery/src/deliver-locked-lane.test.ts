import { hookLane } from '@ghost/queue';
import { beforeEach, expect, onTestFinished, test } from 'vitest';

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

test.each(['lane', 'job'] as const)(
  'a %s that somebody holds for longer than a lease holds up no other, and none of those is sent twice',
  async (what) => {
    let letAnswer = (): void => undefined;
    const mayAnswer = new Promise<void>((resolve) => {
      letAnswer = resolve;
    });
    const held = await receiver(async () => {
      await mayAnswer;
      return 200;
    });
    const target = await receiver();
    const slow = await receiver(async () => {
      await new Promise((resolve) => setTimeout(resolve, 2.5 * LEASE_MS));
      return 200;
    });
    const hook = await seed.hook(held.url);
    // Claimed together, so that their leases are extended together.
    const [first = '', long = ''] = await seed.webhooks([hook, await seed.hook(slow.url)]);
    await startWorker(databaseUrl, { leaseMs: LEASE_MS });
    await Promise.all([held.waitForRequests(1), slow.waitForRequests(1)]);
    await startWorker(databaseUrl, { leaseMs: LEASE_MS });
    const release =
      what === 'lane'
        ? await holdRow('SELECT FROM delivery_lane WHERE lane = $1 FOR UPDATE', hookLane(hook))
        : await holdRow('SELECT FROM delivery_job WHERE id = $1 FOR UPDATE', first);
    letAnswer();

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
  },
);

/** As somebody who changed it by hand, and did not commit yet. */
async function holdRow(lock: string, which: string): Promise<() => Promise<void>> {
  const client = await seed.pool.connect();
  await client.query('BEGIN');
  await client.query(lock, [which]);
  let released = false;
  const release = async () => {
    if (released) return;
    released = true;
    await client.query('ROLLBACK');
    client.release();
  };
  onTestFinished(release);
  return release;
}

async function delivered(ids: readonly string[]): Promise<void> {
  const ended = async () =>
    (await seed.jobs()).filter(({ id, status }) => status === 'delivered' && ids.includes(id));
  await waitUntil(async () => (await ended()).length === ids.length, {
    what: 'what goes to other lanes',
  });
}
