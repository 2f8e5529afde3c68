import { beforeEach, describe, expect, test } from 'vitest';

import type { DeliverySeed } from '../../../test/support/delivery-seed.js';
import {
  allDelivered,
  seededDatabase,
  startWorker,
} from '../../../test/support/delivery-worker.js';
import { receiver } from '../../../test/support/servers-of-a-test.js';

let databaseUrl: string;
let seed: DeliverySeed;
beforeEach(async () => {
  ({ databaseUrl, seed } = await seededDatabase());
});

describe('the end', () => {
  test('finishes what is in flight, gives back the rest, claims nothing more', async () => {
    const target = await receiver(async ({ url }) => {
      if (url === '/hang') return 'hang';
      await new Promise((resolve) => setTimeout(resolve, 100));
      return 200;
    });
    const [fine, hung] = [
      await seed.hook(`${target.url}fine`),
      await seed.hook(`${target.url}hang`),
    ];
    await seed.webhooks([fine, hung]);
    const worker = await startWorker(databaseUrl);
    await target.waitForRequests(2);
    const startedAt = performance.now();
    const stopping = worker.stop(2_500);
    await seed.webhooks([fine]);
    await stopping;
    expect(performance.now() - startedAt).toBeLessThan(2_600);
    const [first, second, third] = await seed.jobs();
    expect(first).toMatchObject({ status: 'delivered' });
    expect(second).toMatchObject({ status: 'pending', leased: false, attempts: 0, tries: 0 });
    expect(third).toMatchObject({ status: 'pending', leaseNo: 0 });
    // Another worker goes on at once.
    target.setHandler(() => 200);
    await startWorker(databaseUrl);
    await allDelivered(seed);
  });
});
