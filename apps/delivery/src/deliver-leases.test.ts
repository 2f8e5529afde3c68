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

describe('a lease', () => {
  test('is extended while its worker lives: a slow answer is one POST', async () => {
    const target = await receiver(async () => {
      await new Promise((resolve) => setTimeout(resolve, 2_500));
      return 200;
    });
    await seed.webhooks([await seed.hook(target.url)]);
    await startWorker(databaseUrl, { leaseMs: 1_000 });
    await startWorker(databaseUrl, { leaseMs: 1_000 });
    await allDelivered(seed);
    expect(target.requests()).toHaveLength(1);
    expect((await seed.jobs())[0]).toMatchObject({ leaseNo: 1, attempts: 1 });
  });

  test('that is lost breaks the attempt off, and settles nothing', async () => {
    const target = await receiver(() => 'hang');
    await seed.webhooks([await seed.hook(target.url)]);
    const leaseMs = 3_000;
    const worker = await startWorker(databaseUrl, { leaseMs });
    await target.waitForRequests(1);
    const startedAt = performance.now();
    // Somebody cancelled the job: its fence moved on.
    await seed.pool.query(
      `UPDATE delivery_job SET status = 'cancelled', finished_at = now(), lease_until = NULL, lease_no = lease_no + 1`,
    );
    await waitUntil(() => worker.inHand.size === 0, { what: 'the attempt to end' });
    // The next extension told, long before the lease itself would have ended.
    expect(performance.now() - startedAt).toBeLessThan(leaseMs * 0.8);
    expect(worker.lines).toContainEqual(
      expect.objectContaining({
        event: 'delivery.attempted',
        outcome: 'released',
        reason: 'lease_lost',
      }),
    );
    expect(await seed.attempts()).toHaveLength(0);
    expect((await seed.jobs())[0]).toMatchObject({ status: 'cancelled', leaseNo: 2 });
  });

  test('that cannot be extended ends with the attempt, before anyone else may claim', async () => {
    const target = await receiver(() => 'hang');
    await seed.webhooks([await seed.hook(target.url)]);
    const worker = await startWorker(databaseUrl, {
      leaseMs: 1_000,
      around: () => ({ extend: () => Promise.reject(new Error('no')) }),
    });
    await target.waitForRequests(1);
    const startedAt = performance.now();
    await waitUntil(() => worker.lines.some(({ reason }) => reason === 'lease_lost'), {
      what: 'the attempt to be broken off',
    });
    expect(performance.now() - startedAt).toBeLessThan(1_500);
  });

  test('a late result of a worker that lost its lease is a logged no-op', async () => {
    let answer: (() => void) | undefined;
    const target = await receiver(async () => {
      await new Promise<void>((resolve) => {
        answer = resolve;
      });
      return 200;
    });
    await seed.webhooks([await seed.hook(target.url)]);
    const worker = await startWorker(databaseUrl);
    await target.waitForRequests(1);
    await seed.pool.query(`UPDATE delivery_job SET lease_no = lease_no + 1`);
    answer?.();
    await waitUntil(() => worker.lines.some((line) => line['fenced'] === true), {
      what: 'the no-op to be logged',
    });
    expect(await seed.attempts()).toHaveLength(0);
    expect((await seed.jobs())[0]).toMatchObject({ status: 'pending', attempts: 0 });
  });
});
