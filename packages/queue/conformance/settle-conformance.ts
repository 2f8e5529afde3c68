import { describe, expect, test } from 'vitest';

import { waitUntil } from '../../../test/support/wait-until.js';
import {
  claimWebhooks,
  enqueueWebhooks,
  type QueueBench,
  settlement,
  SHORT_LEASE_MS,
  WEBHOOKS,
  dueInMs,
} from './queue-harness.js';

/** What outcomes do to jobs and lanes, and which of them count. */
export function settleConformance(bench: () => QueueBench): void {
  describe('settle', () => {
    test('delivered, dead and cancelled are ends', async () => {
      const { harness, queue, hook } = bench();
      const ids = await enqueueWebhooks(harness, queue, hook, 3);
      const jobs = await claimWebhooks(queue);
      const ends = ['delivered', 'dead', 'cancelled'] as const;
      await queue.settle(jobs.map((job, index) => settlement(job, ends[index] ?? 'dead')));
      const states = await Promise.all(ids.map(async (id) => (await harness.job(id)).status));
      expect(states.toSorted()).toEqual(['cancelled', 'dead', 'delivered']);
      expect(await claimWebhooks(queue)).toEqual([]);
      expect(await dueInMs(queue, WEBHOOKS)).toBeNull();
    });

    test('a retry is charged, waits its delay and is due again', async () => {
      const { harness, queue, hook } = bench();
      const [id = ''] = await enqueueWebhooks(harness, queue, hook, 1);
      const [job] = await claimWebhooks(queue);
      if (!job) throw new Error('nothing claimed');
      await queue.settle([settlement(job, 'retry', { delayMs: 200, reason: 'status_500' })]);
      expect(await claimWebhooks(queue)).toEqual([]);
      expect(await harness.job(id)).toMatchObject({
        status: 'pending',
        attempts: 1,
        tries: 1,
        leased: false,
      });
      const due = await dueInMs(queue, WEBHOOKS);
      expect(due).toBeGreaterThan(0);
      expect(due).toBeLessThanOrEqual(200);
      await waitUntil(async () => (await dueInMs(queue, WEBHOOKS)) === 0, {
        what: 'the retry to be due',
      });
      expect((await claimWebhooks(queue)).map((one) => one.id)).toEqual([id]);
      expect(await harness.attempts(id)).toEqual([
        { outcome: 'retry', number: 1, reason: 'status_500' },
      ]);
    });

    test('a result counts only under the current fence', async () => {
      const { harness, queue, hook } = bench();
      const brief = harness.engine({ leaseMs: SHORT_LEASE_MS, laneSlots: 10 });
      const [id = ''] = await enqueueWebhooks(harness, brief, hook, 1);
      const [stale] = await claimWebhooks(brief);
      await waitUntil(async () => (await dueInMs(queue, WEBHOOKS)) === 0, {
        what: 'the lease to end',
      });
      const [current] = await claimWebhooks(queue);
      if (!stale || !current) throw new Error('nothing claimed');
      expect(await queue.settle([settlement(stale, 'dead', { reason: 'stale' })])).toEqual([]);
      expect(await harness.job(id)).toMatchObject({ status: 'pending', attempts: 0 });
      expect(await queue.settle([settlement(current, 'delivered')])).toEqual([
        { id, leaseNo: current.leaseNo, status: 'delivered' },
      ]);
      // The lease has had its say: another outcome changes nothing, and is told what counted.
      expect(await queue.settle([settlement(current, 'dead')])).toEqual([
        { id, leaseNo: current.leaseNo, status: 'delivered' },
      ]);
      expect(await harness.job(id)).toMatchObject({ status: 'delivered', tries: 1 });
    });

    test('a settle that is repeated because its answer was lost counts once and answers the same', async () => {
      const { harness, queue, hook } = bench();
      const [id = ''] = await enqueueWebhooks(harness, queue, hook, 1);
      const [job] = await claimWebhooks(queue);
      if (!job) throw new Error('nothing claimed');
      const retry = settlement(job, 'retry', { delayMs: 60_000, reason: 'status_500' });
      const answer = [{ id, leaseNo: job.leaseNo, status: 'pending' }];
      expect(await queue.settle([retry])).toEqual(answer);
      expect(await queue.settle([retry])).toEqual(answer);
      expect(await harness.job(id)).toMatchObject({ attempts: 1, tries: 1 });
      expect(await harness.attempts(id)).toHaveLength(1);
    });

    test('a repeated settle does not hold a lane again that someone resumed meanwhile', async () => {
      const { harness, queue, hook } = bench();
      await enqueueWebhooks(harness, queue, hook, 1);
      const [job] = await claimWebhooks(queue);
      if (!job) throw new Error('nothing claimed');
      const held = settlement(job, 'held', { reason: 'gone' });
      await queue.settle([held]);
      await harness.inTransaction((tx) => queue.resume(tx, `hook:${hook}`));
      await queue.settle([held]);
      expect(await claimWebhooks(queue)).toHaveLength(1);
    });

    test('a held outcome keeps the job and its lane until someone resumes it', async () => {
      const { harness, queue, hook } = bench();
      const [first = '', second = ''] = await enqueueWebhooks(harness, queue, hook, 2);
      const [job] = await claimWebhooks(queue, 1);
      if (!job) throw new Error('nothing claimed');
      await queue.settle([settlement(job, 'held', { reason: 'gone' })]);
      expect(await claimWebhooks(queue)).toEqual([]);
      expect(await dueInMs(queue, WEBHOOKS)).toBeNull();
      await enqueueWebhooks(harness, queue, hook, 1);
      expect(await claimWebhooks(queue)).toEqual([]);
      expect(await dueInMs(queue, WEBHOOKS)).toBeNull();
      expect(await harness.inTransaction((tx) => queue.resume(tx, `hook:${hook}`))).toBe(true);
      const resumed = await claimWebhooks(queue);
      expect(resumed.map((one) => one.id)).toEqual(expect.arrayContaining([first, second]));
      expect(resumed).toHaveLength(3);
    });

    test('a lane that must rest is not due before its time, and others go on', async () => {
      const { harness, queue, hook, anotherHook } = bench();
      const resting = hook;
      const other = anotherHook();
      await enqueueWebhooks(harness, queue, resting, 2);
      const [job] = await claimWebhooks(queue, 1);
      if (!job) throw new Error('nothing claimed');
      await queue.settle([
        settlement(job, 'retry', { reason: 'status_429', delayMs: 1, laneRestMs: 60_000 }),
      ]);
      await enqueueWebhooks(harness, queue, resting, 1);
      await enqueueWebhooks(harness, queue, other, 1);
      expect((await claimWebhooks(queue)).map((one) => one.lane)).toEqual([`hook:${other}`]);
      const due = await dueInMs(queue, WEBHOOKS);
      expect(due).toBeGreaterThan(0);
    });

    test('hostile text in an answer is stored and the job is settled', async () => {
      const { harness, queue, hook } = bench();
      const [id = ''] = await enqueueWebhooks(harness, queue, hook, 1);
      const [job] = await claimWebhooks(queue);
      if (!job) throw new Error('nothing claimed');
      const attempt = {
        startedAt: new Date().toISOString(),
        bodyExcerpt: 'nul \0 lone \ud800 end',
        responseHead: { 'x-odd\0': '\udfff"\\' },
      };
      expect(await queue.settle([settlement(job, 'delivered', { attempt })])).toHaveLength(1);
      expect(await harness.job(id)).toMatchObject({ status: 'delivered' });
    });
  });
}
