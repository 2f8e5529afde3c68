import { beforeEach, describe, expect, test } from 'vitest';

import type { DeliverySeed } from '../../../test/support/delivery-seed.js';
import {
  allDelivered,
  seededDatabase,
  startWorker,
} from '../../../test/support/delivery-worker.js';
import { receiver } from '../../../test/support/servers-of-a-test.js';
import { waitUntil } from '../../../test/support/wait-until.js';

let databaseUrl: string;
let seed: DeliverySeed;
beforeEach(async () => {
  ({ databaseUrl, seed } = await seededDatabase());
});

describe('with nothing to do', () => {
  test('asks the database nothing', async () => {
    const target = await receiver();
    const worker = await startWorker(databaseUrl, { leaseMs: 1_000 });
    await seed.webhooks([await seed.hook(target.url)]);
    await allDelivered(seed);
    // One look when the lease that was given would have ended; then nothing at all.
    let last = -1;
    await waitUntil(
      () => {
        const same = worker.statements() === last;
        last = worker.statements();
        return same;
      },
      { what: 'quiet', everyMs: 1_500 },
    );
    await seed.webhooks([await seed.hook(target.url)]);
    await target.waitForRequests(2);
    expect(worker.statements()).toBeGreaterThan(last);
  });

  test('a job for later is sent on time, without polling', async () => {
    const target = await receiver();
    const worker = await startWorker(databaseUrl);
    const [id] = await seed.webhooks([await seed.hook(target.url)]);
    await allDelivered(seed);
    await seed.pool.query(
      `UPDATE delivery_job SET status = 'pending', finished_at = NULL, run_at = now() + interval '700 milliseconds' WHERE id = $1`,
      [id],
    );
    await seed.pool.query(`UPDATE delivery_lane SET next_at = now() + interval '700 milliseconds'`);
    await seed.pool.query(`SELECT pg_notify('ghost_delivery', '')`);
    const before = worker.statements();
    const startedAt = performance.now();
    await target.waitForRequests(2);
    expect(performance.now() - startedAt).toBeGreaterThan(500);
    expect(performance.now() - startedAt).toBeLessThan(2_000);
    expect(worker.statements() - before).toBeLessThan(10);
  });
});
