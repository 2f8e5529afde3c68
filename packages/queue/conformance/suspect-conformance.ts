import { hookLane, type Queue } from '@ghost/queue';
import { describe, expect, test } from 'vitest';

import { waitUntil } from '../../../test/support/wait-until.js';
import {
  claimWebhooks,
  dueInMs,
  enqueueWebhooks,
  type QueueBench,
  type QueueHarness,
  settlement,
  WEBHOOKS,
} from './queue-harness.js';

const BRIEF_MS = 60;

/** Jobs that were in hand when a worker died: tried alone, and dead when that kills each worker. */
export function suspectConformance(bench: () => QueueBench): void {
  describe('jobs whose worker died', () => {
    const alone = (queue: Queue) =>
      queue.claim({ ...WEBHOOKS, jobs: 1, lanes: 10, alone: true }).then(({ jobs }) => jobs);

    /** Claims that nobody settles, each run out before it returns. */
    async function abandon({ harness }: QueueBench, id: string, times: number): Promise<void> {
      const brief = harness.engine({ leaseMs: BRIEF_MS });
      for (let n = 0; n < times; n += 1) {
        expect((await claimWebhooks(brief)).length).toBeGreaterThan(0);
        await leaseEnded(harness, id);
      }
    }

    const leaseEnded = (harness: QueueHarness, id: string) =>
      waitUntil(async () => !(await harness.job(id)).leased, { what: 'a lease to end' });

    test('are claimed with others once more, then only alone', async () => {
      const one = bench();
      const { harness, queue, hook } = one;
      const [id = ''] = await enqueueWebhooks(harness, queue, hook, 1);
      await abandon(one, id, 2);
      expect(await claimWebhooks(queue)).toEqual([]);
      expect(await queue.nextDue(WEBHOOKS)).toEqual({ workMs: null, suspectMs: 0 });
      const [job] = await alone(queue);
      expect(job).toMatchObject({ id, attempts: 0 });
      if (job) await queue.settle([settlement(job, 'delivered')]);
      expect(await harness.job(id)).toMatchObject({ status: 'delivered', abandoned: 0, tries: 1 });
    });

    test('are found behind others of their lane, which wait for it', async () => {
      const { harness, queue, hook } = bench();
      const ids = await enqueueWebhooks(harness, queue, hook, 4);
      const last = ids[3] ?? '';
      const brief = harness.engine({ leaseMs: BRIEF_MS });
      for (let n = 0; n < 2; n += 1) {
        const jobs = await claimWebhooks(brief);
        await brief.release(jobs.filter(({ id }) => id !== last));
        await leaseEnded(harness, last);
      }
      expect(await claimWebhooks(queue)).toEqual([]);
      const [job] = await alone(queue);
      expect(job?.id).toBe(last);
      if (job) await queue.settle([settlement(job, 'delivered')]);
      expect(await alone(queue)).toEqual([]);
      expect(await claimWebhooks(queue)).toHaveLength(3);
    });

    test('are dead after five, with the reason, and each lost lease is in the history', async () => {
      const one = bench();
      const { harness, queue, hook } = one;
      const [id = ''] = await enqueueWebhooks(harness, queue, hook, 1);
      await abandon(one, id, 2);
      // The claim that meets it takes nothing: it makes the lane one to be claimed alone.
      expect(await claimWebhooks(queue)).toEqual([]);
      const brief = harness.engine({ leaseMs: BRIEF_MS });
      for (let n = 0; n < 3; n += 1) {
        expect(await alone(brief)).toHaveLength(1);
        await leaseEnded(harness, id);
      }
      expect(await alone(queue)).toEqual([]);
      expect(await harness.job(id)).toMatchObject({
        status: 'dead',
        lastError: 'worker_died',
        attempts: 0,
        leased: false,
      });
      const history = await harness.attempts(id);
      expect(history).toHaveLength(5);
      expect(new Set(history.map(({ outcome }) => outcome))).toEqual(new Set(['abandoned']));
    });

    test('hold up their own lane alone, which goes on once they are settled', async () => {
      const one = bench();
      const { harness, queue, hook, anotherHook } = one;
      const suspects = await enqueueWebhooks(harness, queue, hook, 2);
      const [id = ''] = suspects;
      await abandon(one, id, 2);
      await enqueueWebhooks(harness, queue, hook, 3);
      const other = anotherHook();
      await enqueueWebhooks(harness, queue, other, 1);
      expect((await claimWebhooks(queue)).map(({ lane }) => lane)).toEqual([hookLane(other)]);
      const ran: string[] = [];
      for (;;) {
        const [job] = await alone(queue);
        if (!job) break;
        ran.push(job.id);
        expect(await alone(queue)).toEqual([]);
        await queue.settle([settlement(job, 'delivered')]);
      }
      expect(ran.toSorted()).toEqual(suspects.toSorted());
      expect(await dueInMs(queue, WEBHOOKS)).toBe(0);
      expect((await claimWebhooks(queue)).length).toBeGreaterThan(0);
    });

    test('are cleared by a release: who gave a job back did not die of it', async () => {
      const one = bench();
      const { harness, queue, hook } = one;
      const [id = ''] = await enqueueWebhooks(harness, queue, hook, 1);
      await abandon(one, id, 1);
      await queue.release(await claimWebhooks(queue));
      await abandon(one, id, 1);
      expect(await claimWebhooks(queue)).toHaveLength(1);
    });
  });
}
