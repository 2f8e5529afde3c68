import { hookLane } from '@ghost/queue';
import { describe, expect, test } from 'vitest';

import {
  claimWebhooks,
  dueInMs,
  enqueueMail,
  enqueueWebhooks,
  type QueueBench,
  settlement,
  MAILS,
  WEBHOOKS,
} from './queue-harness.js';

const HOUR_MS = 3_600_000;
const FAULT = { reason: 'http_5xx', laneFault: 'failed' } as const;
const TIMED_OUT = { reason: 'timeout', laneFault: 'timed_out' } as const;

/** What a lane may have in flight by what it has shown, and what many of them may have together. */
export function standingConformance(bench: () => QueueBench): void {
  describe('slow start', () => {
    test('a lane without a success has one slot, and earns one more with each', async () => {
      const { harness, queue, hook } = bench();
      await enqueueWebhooks(harness, queue, hook, 40, { fresh: true });
      const counts: number[] = [];
      for (let turn = 0; turn < 5; turn += 1) {
        const jobs = await claimWebhooks(queue);
        counts.push(jobs.length);
        await queue.settle(jobs.map((job) => settlement(job, 'delivered')));
      }
      expect(counts).toEqual([1, 2, 4, 8, 10]);
    });

    test('a time-out takes back all but one; a failure takes nothing', async () => {
      const { harness, queue, hook } = bench();
      await enqueueWebhooks(harness, queue, hook, 40);
      const [first, second, ...others] = await claimWebhooks(queue);
      if (!first || !second) throw new Error('Nothing was claimed');
      const later = { delayMs: HOUR_MS };
      await queue.settle([settlement(first, 'retry', { ...FAULT, ...later })]);
      expect(await harness.lane(hookLane(hook))).toMatchObject({ standing: 'proven', earned: 10 });
      await queue.settle([settlement(second, 'retry', { ...TIMED_OUT, ...later })]);
      expect(await harness.lane(hookLane(hook))).toMatchObject({ standing: 'slow', earned: 1 });
      expect(await claimWebhooks(queue)).toEqual([]);
      await queue.settle(others.map((job) => settlement(job, 'delivered')));
      expect(await harness.lane(hookLane(hook))).toMatchObject({ standing: 'proven', earned: 9 });
    });

    test('a success of an hour ago proves nothing any more', async () => {
      const { harness, queue, hook } = bench();
      await enqueueWebhooks(harness, queue, hook, 5);
      await harness.age(hookLane(hook), HOUR_MS + 1_000);
      expect(await claimWebhooks(queue)).toHaveLength(1);
      expect(await harness.lane(hookLane(hook))).toMatchObject({ standing: 'slow', earned: 1 });
    });

    test('lanes without a success share what they may have together; others go on', async () => {
      const { harness, queue, hook, anotherHook } = bench();
      for (let n = 0; n < 6; n += 1) {
        await enqueueWebhooks(harness, queue, anotherHook(), 1, { fresh: true });
      }
      await enqueueWebhooks(harness, queue, hook, 3);
      const capacity = { ...WEBHOOKS, jobs: 100, lanes: 100 };
      const { jobs } = await queue.claim({ ...capacity, slowJobs: 2 });
      expect(jobs.filter(({ slow }) => slow)).toHaveLength(2);
      expect(jobs.filter(({ slow }) => !slow)).toHaveLength(3);
      expect((await queue.claim({ ...capacity, slowJobs: 0 })).jobs).toEqual([]);
      expect((await queue.nextDue(WEBHOOKS, { slow: false })).workMs).not.toBe(0);
      expect((await queue.nextDue(WEBHOOKS, { slow: true })).workMs).toBe(0);
      expect((await queue.claim(capacity)).jobs).toHaveLength(4);
    });
  });

  describe('the breaker', () => {
    async function failing({ harness, queue, hook }: QueueBench, failures: number): Promise<void> {
      await enqueueWebhooks(harness, queue, hook, 30);
      const jobs = (await claimWebhooks(queue)).slice(0, failures);
      await queue.settle(
        jobs.map((job) => settlement(job, 'retry', { ...FAULT, delayMs: HOUR_MS })),
      );
    }

    test('four failures in a row let a lane go on, the fifth makes it rest', async () => {
      const four = bench();
      await failing(four, 4);
      expect(await claimWebhooks(four.queue)).toHaveLength(4);
      const five = bench();
      await failing(five, 5);
      expect(await claimWebhooks(five.queue)).toEqual([]);
      expect(await five.harness.lane(hookLane(five.hook))).toMatchObject({
        standing: 'slow',
        failures: 5,
        resting: true,
      });
    });

    test('after the pause one job at a time probes it; each that fails makes the next pause longer', async () => {
      const one = bench();
      await failing(one, 10);
      const { harness, queue, hook } = one;
      const pauses: number[] = [];
      for (let probe = 0; probe < 3; probe += 1) {
        pauses.push((await dueInMs(queue, WEBHOOKS)) ?? 0);
        await harness.age(hookLane(hook), 2 * HOUR_MS);
        const jobs = await claimWebhooks(queue);
        expect(jobs).toHaveLength(1);
        await queue.settle(
          jobs.map((job) => settlement(job, 'retry', { ...FAULT, delayMs: HOUR_MS })),
        );
      }
      const [first = 0, second = 0, third = 0] = pauses;
      expect(first).toBeGreaterThan(7_000);
      expect(first).toBeLessThanOrEqual(12_500);
      expect(second).toBeGreaterThan(14_000);
      expect(third).toBeGreaterThan(28_000);
      expect(third).toBeLessThanOrEqual(50_000);
    });

    test('what waits is not charged, and the first success ends the pause', async () => {
      const one = bench();
      await failing(one, 10);
      const { harness, queue, hook } = one;
      await harness.age(hookLane(hook), HOUR_MS);
      const [probe] = await claimWebhooks(queue);
      if (!probe) throw new Error('No probe');
      expect(probe).toMatchObject({ attempts: 0, slow: true });
      expect(await claimWebhooks(queue)).toEqual([]);
      await queue.settle([settlement(probe, 'delivered')]);
      expect(await harness.lane(hookLane(hook))).toMatchObject({ failures: 0, resting: false });
      expect(await claimWebhooks(queue)).toHaveLength(2);
    });

    test('failures of jobs that are no fault of the destination do not count', async () => {
      const { harness, queue, hook } = bench();
      await enqueueWebhooks(harness, queue, hook, 20);
      const jobs = await claimWebhooks(queue);
      await queue.settle(jobs.map((job) => settlement(job, 'retry', { delayMs: HOUR_MS })));
      expect(await harness.lane(hookLane(hook))).toMatchObject({ failures: 0, resting: false });
    });
  });

  test('a lane knows since when it fails: from the first failure on, until the next success', async () => {
    const { harness, queue, hook } = bench();
    await enqueueWebhooks(harness, queue, hook, 4);
    const [one, two, three, four] = await claimWebhooks(queue);
    if (!one || !two || !three || !four) throw new Error('Nothing was claimed');
    const failing = async () => (await harness.lane(hookLane(hook))).failingForMs;
    const later = { ...FAULT, delayMs: 2 * HOUR_MS };
    await queue.settle([settlement(one, 'cancelled'), settlement(two, 'retry', later)]);
    await harness.advance(HOUR_MS);
    await queue.settle([settlement(three, 'retry', later)]);
    expect(await failing()).toBeGreaterThanOrEqual(HOUR_MS);
    await queue.settle([settlement(four, 'delivered')]);
    expect(await failing()).toBeNull();
    await harness.advance(2 * HOUR_MS);
    const [again] = await claimWebhooks(queue);
    if (!again) throw new Error('Nothing was claimed');
    await queue.settle([settlement(again, 'retry', later)]);
    expect(await failing()).toBeLessThan(HOUR_MS);
  });

  describe('shares', () => {
    const CAPACITY = { ...WEBHOOKS, jobs: 100, lanes: 100 };

    test('one owner’s lanes together have no more than the share, what the worker holds included', async () => {
      const { harness, queue, anotherHook } = bench();
      for (let n = 0; n < 4; n += 1) {
        await enqueueWebhooks(harness, queue, anotherHook(), 5, { ownerId: 7 });
      }
      await enqueueWebhooks(harness, queue, anotherHook(), 5, { ownerId: 8 });
      const shares = { ownerMost: 10, hostMost: 100, owners: { 7: 4 }, hosts: {} };
      const { jobs } = await queue.claim({ ...CAPACITY, shares });
      expect(jobs.filter(({ ownerId }) => ownerId === 7)).toHaveLength(6);
      expect(jobs.filter(({ ownerId }) => ownerId === 8)).toHaveLength(5);
    });

    test('one host has no more than its share, over all lanes that lead to it', async () => {
      const { harness, queue, anotherHook } = bench();
      const host = 'hooks.example';
      for (let n = 0; n < 4; n += 1) {
        await enqueueWebhooks(harness, queue, anotherHook(), 5, { host, ownerId: n + 1 });
      }
      const shares = { ownerMost: 100, hostMost: 7, owners: {}, hosts: { [host]: 2 } };
      expect((await queue.claim({ ...CAPACITY, shares })).jobs).toHaveLength(5);
      const full = { ...shares, hosts: { [host]: 7 } };
      expect((await queue.claim({ ...CAPACITY, shares: full })).jobs).toEqual([]);
    });

    test('what a share keeps back is due again a moment later, and none of it is charged', async () => {
      const { harness, queue, hook } = bench();
      await enqueueWebhooks(harness, queue, hook, 5, { ownerId: 7 });
      const shares = { ownerMost: 5, hostMost: 100, owners: { 7: 5 }, hosts: {} };
      expect((await queue.claim({ ...CAPACITY, shares })).jobs).toEqual([]);
      expect(await dueInMs(queue, WEBHOOKS)).toBeLessThanOrEqual(250);
    });

    test('a hook that moves takes its lane to the new host with its next job', async () => {
      const { harness, queue, hook } = bench();
      await enqueueWebhooks(harness, queue, hook, 1, { ownerId: 7, host: 'old.example' });
      await enqueueWebhooks(harness, queue, hook, 1, { ownerId: 7, host: 'new.example' });
      expect(await harness.lane(hookLane(hook))).toMatchObject({ ownerId: 7, host: 'new.example' });
    });

    test('bulk mail of all domains shares one host’s part, and mail that is not bulk none of it', async () => {
      const { harness } = bench();
      const queue = harness.engine();
      for (let n = 0; n < 6; n += 1) {
        await enqueueMail(harness, queue, 1, `ada@bulk-${n}.test`, true);
        await enqueueMail(harness, queue, 1, `ada@other-${n}.test`);
      }
      const shares = { ownerMost: 100, hostMost: 5, owners: {}, hosts: { ':bulk': 2 } };
      const { jobs } = await queue.claim({ ...MAILS, jobs: 100, lanes: 100, shares });
      expect(jobs.filter(({ host }) => host === ':bulk')).toHaveLength(3);
      expect(jobs.filter(({ host }) => host === null)).toHaveLength(6);
    });

    test('normal and bulk mail of a domain have halves of its slots', async () => {
      const { harness } = bench();
      const queue = harness.engine({ laneSlots: 5 });
      for (let n = 1; n <= 6; n += 1) {
        await enqueueMail(harness, queue, n, `r${n}@halves.example`);
        await enqueueMail(harness, queue, n, `r${n}@halves.example`, true);
      }
      const { jobs } = await queue.claim({ kind: 'email', version: 1, jobs: 100, lanes: 100 });
      expect(jobs.filter(({ lane }) => lane === 'mail:halves.example')).toHaveLength(3);
      expect(jobs.filter(({ lane }) => lane === 'mail:halves.example:bulk')).toHaveLength(2);
    });

    test('a lane can be given a limit of its own, lower or higher, while it works', async () => {
      const { harness, queue, hook } = bench();
      await enqueueWebhooks(harness, queue, hook, 40);
      const ten = await claimWebhooks(queue);
      await harness.inTransaction((tx) => queue.limit(tx, hookLane(hook), 3));
      await queue.settle(ten.slice(0, 7).map((job) => settlement(job, 'delivered')));
      expect(await claimWebhooks(queue)).toEqual([]);
      await queue.settle(ten.slice(7, 9).map((job) => settlement(job, 'delivered')));
      expect(await claimWebhooks(queue)).toHaveLength(2);
      expect(await claimWebhooks(queue)).toEqual([]);
      await harness.inTransaction((tx) => queue.limit(tx, hookLane(hook), null));
      expect(await claimWebhooks(queue)).toHaveLength(7);
    });
  });
}
