import { hookLane, type Queue } from '@ghost/queue';
import { describe, expect, test } from 'vitest';

import {
  claimWebhooks,
  dueInMs,
  enqueueWebhooks,
  type QueueBench,
  type QueueHarness,
  settlement,
  SHORT_LEASE_MS,
  WEBHOOKS,
} from './queue-harness.js';

const MINUTE_MS = 60_000;
/** What a run takes by itself counts, too. */
const DRIFT_MS = 500;

/** Between which moments of the queue's time a job was claimed. */
interface Claimed {
  from: number;
  to: number;
}

/** Claims and settles all that may go, until nothing is due any more. */
async function drain(harness: QueueHarness, queue: Queue): Promise<Claimed[]> {
  const claimed: Claimed[] = [];
  const startedAt = performance.now();
  let advanced = 0;
  const now = () => advanced + performance.now() - startedAt;
  for (;;) {
    const from = now();
    const jobs = await claimWebhooks(queue);
    for (const _ of jobs) claimed.push({ from, to: now() });
    await queue.settle(jobs.map((job) => settlement(job, 'delivered')));
    const waitMs = await dueInMs(queue, WEBHOOKS);
    if (waitMs === null) return claimed;
    advanced += Math.ceil(waitMs);
    await harness.advance(Math.ceil(waitMs));
  }
}

/** The most that surely came within a minute. */
function mostInAMinute(claimed: readonly Claimed[]): number {
  return Math.max(
    ...claimed.map(
      ({ from }, n) => claimed.slice(n).filter(({ to }) => to - from < MINUTE_MS).length,
    ),
  );
}

/** How often jobs of one lane may go. */
export function rateConformance(bench: () => QueueBench): void {
  describe('a lane with a rate', () => {
    const limited = async (perMinute: number | null) => {
      const { harness, queue, hook } = bench();
      await harness.inTransaction((tx) => queue.limitRate(tx, hookLane(hook), perMinute));
      return { harness, queue, hook };
    };

    test.each([
      { perMinute: 1, jobs: 3 },
      { perMinute: 30, jobs: 70 },
      { perMinute: 120, jobs: 150 },
    ])('has at most $perMinute claimed in any minute, and hardly fewer', async (given) => {
      const { harness, queue, hook } = await limited(given.perMinute);
      await enqueueWebhooks(harness, queue, hook, given.jobs);
      const claimed = await drain(harness, queue);
      expect(claimed).toHaveLength(given.jobs);
      expect(mostInAMinute(claimed)).toBeLessThanOrEqual(given.perMinute);
      const tookMs = (claimed.at(-1)?.from ?? 0) - (claimed[0]?.to ?? 0);
      expect(tookMs).toBeLessThan((given.jobs / given.perMinute) * MINUTE_MS * 1.2);
    });

    test('is looked at when the next may go, and not before', async () => {
      const { harness, queue, hook } = await limited(60);
      await enqueueWebhooks(harness, queue, hook, 5);
      const [first, ...none] = await claimWebhooks(queue);
      expect(none).toEqual([]);
      expect(await dueInMs(queue, WEBHOOKS)).toBeGreaterThan(1_000 - DRIFT_MS);
      if (first) await queue.settle([settlement(first, 'delivered')]);
      expect(await claimWebhooks(queue)).toEqual([]);
      expect(await dueInMs(queue, WEBHOOKS)).toBeGreaterThan(1_000 - DRIFT_MS);
      await harness.advance(1_001);
      expect(await claimWebhooks(queue)).toHaveLength(1);
    });

    test('keeps its free slots for what comes, and holds up no other lane', async () => {
      const { harness, queue, hook } = await limited(6);
      await enqueueWebhooks(harness, queue, hook, 50);
      const other = bench().anotherHook();
      await enqueueWebhooks(harness, queue, other, 10);
      const jobs = await claimWebhooks(queue);
      expect(jobs.filter(({ lane }) => lane === hookLane(hook))).toHaveLength(1);
      expect(jobs.filter(({ lane }) => lane === hookLane(other))).toHaveLength(10);
    });

    test('counts every worker’s claims, those that come to nothing and the tries again', async () => {
      const { harness, hook } = await limited(6);
      const [one, two] = [SHORT_LEASE_MS, SHORT_LEASE_MS].map((leaseMs) =>
        harness.engine({ leaseMs }),
      );
      if (!one || !two) throw new Error('No engines');
      await enqueueWebhooks(harness, one, hook, 4);
      const [failed] = await claimWebhooks(one);
      if (!failed) throw new Error('Nothing was claimed');
      expect(await claimWebhooks(two)).toEqual([]);
      await one.settle([settlement(failed, 'retry', { reason: 'http_5xx' })]);
      expect(await claimWebhooks(two)).toEqual([]);
      await harness.advance(10_001);
      const [abandoned] = await claimWebhooks(two);
      expect(abandoned).toBeDefined();
      await harness.advance(SHORT_LEASE_MS + 1);
      expect(await claimWebhooks(one)).toEqual([]);
      await harness.advance(10_001);
      expect(await claimWebhooks(one)).toHaveLength(1);
    });

    test('ends what outlived its time, however many that are, without counting it', async () => {
      const { harness, queue, hook } = await limited(1);
      const ids = await enqueueWebhooks(harness, queue, hook, 20);
      for (const id of ids.slice(0, 19)) await harness.outlive(id);
      expect((await claimWebhooks(queue)).map(({ id }) => id)).toEqual(ids.slice(19));
      const states = await harness.jobs(ids);
      expect([...states.values()].filter(({ status }) => status === 'dead')).toHaveLength(19);
    });

    test('goes on at once when the rate is lifted or raised, and a stricter one counts from then', async () => {
      const { harness, queue, hook } = await limited(1);
      await enqueueWebhooks(harness, queue, hook, 40);
      expect(await claimWebhooks(queue)).toHaveLength(1);
      await harness.inTransaction((tx) => queue.limitRate(tx, hookLane(hook), 300));
      const five = await claimWebhooks(queue);
      expect(five).toHaveLength(5);
      await harness.inTransaction((tx) => queue.limitRate(tx, hookLane(hook), 300));
      expect(await claimWebhooks(queue)).toEqual([]);
      await harness.inTransaction((tx) => queue.limitRate(tx, hookLane(hook), 2));
      expect(await claimWebhooks(queue)).toHaveLength(1);
      await harness.inTransaction((tx) => queue.limitRate(tx, hookLane(hook), null));
      expect(await claimWebhooks(queue)).toHaveLength(3);
    });

    test('stays held while it is held, and refuses a rate that is none', async () => {
      const { harness, queue, hook } = await limited(60);
      await enqueueWebhooks(harness, queue, hook, 2);
      await harness.inTransaction((tx) => queue.hold(tx, hookLane(hook), 'paused'));
      await harness.inTransaction((tx) => queue.limitRate(tx, hookLane(hook), 600));
      expect(await claimWebhooks(queue)).toEqual([]);
      expect(await dueInMs(queue, WEBHOOKS)).toBeNull();
      for (const rate of [0, -1, 1.5, Number.NaN]) {
        await expect(
          harness.inTransaction((tx) => queue.limitRate(tx, hookLane(hook), rate)),
        ).rejects.toThrow(/whole number of jobs a minute/u);
      }
    });
  });
}
