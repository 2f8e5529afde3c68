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

describe('a claim that took long', () => {
  test('whose lease has ended is given back, not sent', async () => {
    const target = await receiver();
    await seed.webhooks([await seed.hook(target.url)]);
    let claims = 0;
    const sentBefore: number[] = [];
    const worker = await startWorker(databaseUrl, {
      leaseMs: 1_000,
      around: (queue) => ({
        claim: async (capacity) => {
          const claim = await queue.claim(capacity);
          claims += 1;
          sentBefore.push(target.requests().length);
          if (claims > 1 || claim.jobs.length === 0) return claim;
          // Its answer took until the end of the lease.
          const jobs = claim.jobs.map((job) => ({ ...job, leaseEndsAt: performance.now() + 20 }));
          return { ...claim, jobs };
        },
      }),
    });
    await allDelivered(seed);
    expect(target.requests()).toHaveLength(1);
    expect(sentBefore.slice(0, 2)).toEqual([0, 0]);
    expect(worker.lines).toContainEqual(
      expect.objectContaining({
        event: 'delivery.attempted',
        outcome: 'released',
        reason: 'lease_too_short',
      }),
    );
    // Given back, not left to run out: nothing was abandoned.
    expect((await seed.attempts()).map(({ outcome }) => outcome)).toEqual(['delivered']);
  });

  test('whose lease is nearly over is extended before it ends', async () => {
    const target = await receiver(async () => {
      await new Promise((resolve) => setTimeout(resolve, 900));
      return 200;
    });
    await seed.webhooks([await seed.hook(target.url)]);
    const leaseMs = 1_500;
    const worker = await startWorker(databaseUrl, {
      leaseMs,
      around: (queue) => ({
        claim: async (capacity) => {
          const claim = await queue.claim(capacity);
          // Less is left than the third after which a whole lease is extended.
          const leaseEndsAt = performance.now() + leaseMs * 0.3;
          return { ...claim, jobs: claim.jobs.map((job) => ({ ...job, leaseEndsAt })) };
        },
      }),
    });
    await allDelivered(seed);
    expect(target.requests()).toHaveLength(1);
    expect(worker.lines.filter(({ event }) => event === 'delivery.attempted')).toMatchObject([
      { outcome: 'delivered' },
    ]);
  });

  test('is over within its time; what it brings later is given back', async () => {
    const target = await receiver();
    let held = false;
    let comeBack = (): void => undefined;
    const worker = await startWorker(databaseUrl, {
      claimWithinMs: 100,
      around: (queue) => ({
        claim: async (capacity) => {
          // The next claim of webhooks begins once the one held here was given up.
          if (held && capacity.kind === 'webhook') comeBack();
          const claim = await queue.claim(capacity);
          if (held || claim.jobs.length === 0) return claim;
          held = true;
          await new Promise<void>((resolve) => {
            comeBack = resolve;
          });
          return claim;
        },
      }),
    });
    await seed.webhooks([await seed.hook(target.url)]);
    await allDelivered(seed);
    expect(target.requests()).toHaveLength(1);
    expect(worker.lines).toContainEqual(
      expect.objectContaining({ event: 'delivery.claim_late', released: 1 }),
    );
    expect((await seed.jobs())[0]).toMatchObject({ leaseNo: 2, tries: 1 });
  });

  test('after the grace period is not sent either', async () => {
    const target = await receiver();
    await seed.webhooks([await seed.hook(target.url)]);
    let comeBack = (): void => undefined;
    let claimed = false;
    let handedOver = (): void => undefined;
    const handOver = new Promise<void>((resolve) => {
      handedOver = resolve;
    });
    const worker = await startWorker(databaseUrl, {
      around: (queue) => ({
        claim: async (capacity) => {
          const claim = await queue.claim(capacity);
          if (claim.jobs.length === 0) return claim;
          claimed = true;
          await new Promise<void>((resolve) => {
            comeBack = resolve;
          });
          setImmediate(handedOver);
          return claim;
        },
      }),
    });
    await waitUntil(() => claimed, { what: 'the claim' });
    await worker.stop(100);
    comeBack();
    await handOver;
    await waitUntil(() => worker.inHand.size === 0, { what: 'nothing in hand' });
    expect(target.requests()).toHaveLength(0);
    expect(worker.lines.filter(({ event }) => event === 'delivery.attempted')).toMatchObject([
      { outcome: 'released', reason: 'shutdown' },
    ]);
  });

  test('within the time for writing down is given back', async () => {
    const target = await receiver();
    await seed.webhooks([await seed.hook(target.url)]);
    let claimed = false;
    const worker = await startWorker(databaseUrl, {
      around: (queue) => ({
        claim: async (capacity) => {
          const claim = await queue.claim(capacity);
          if (claim.jobs.length === 0) return claim;
          claimed = true;
          // No signal tells when a shutdown breaks off: it does at once where the grace is short.
          await new Promise((resolve) => setTimeout(resolve, 300));
          return claim;
        },
      }),
    });
    await waitUntil(() => claimed, { what: 'the claim' });
    await worker.stop(100);
    expect(target.requests()).toHaveLength(0);
    expect(await seed.jobs()).toMatchObject([{ status: 'pending', leased: false, tries: 0 }]);
  });
});
