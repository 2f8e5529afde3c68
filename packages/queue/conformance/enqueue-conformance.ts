import { describe, expect, test } from 'vitest';

import {
  claimWebhooks,
  enqueueMail,
  enqueueWebhooks,
  type QueueBench,
  settlement,
  WEBHOOKS,
  webhooksIn,
  dueInMs,
} from './queue-harness.js';

/** What comes in: stored once, seen when committed, beside open transactions. */
export function enqueueConformance(bench: () => QueueBench): void {
  describe('enqueue', () => {
    test('a job is claimed once, finished, with the bytes that were stored', async () => {
      const { harness, queue, hook } = bench();
      const body = '{"text":"“quotes”, 漢字, 👋"}';
      const [id] = await enqueueWebhooks(harness, queue, hook, 1, { body });
      const [job, ...others] = await claimWebhooks(queue);
      expect(others).toEqual([]);
      expect(job).toMatchObject({ id, attempts: 0, tries: 0, redelivery: false });
      expect(job?.job).toMatchObject({ kind: 'webhook', hookId: hook, event: 'ping', body });
      expect(await claimWebhooks(queue)).toEqual([]);
    });

    test('every job of an event gets the content that is stored once', async () => {
      const { harness, queue, hook } = bench();
      await enqueueWebhooks(harness, queue, hook, 3, { body: '{"shared":true}' });
      const jobs = await claimWebhooks(queue);
      expect(jobs.map(({ job }) => job.kind === 'webhook' && job.body)).toEqual(
        Array(3).fill('{"shared":true}'),
      );
    });

    test('a mail is joined from the shared and the reader’s own parts', async () => {
      const { harness, queue, hook } = bench();
      const id = await enqueueMail(harness, queue, 7, `reader@conformance-${hook}.test`);
      const { jobs } = await queue.claim({ kind: 'email', version: 1, jobs: 10, lanes: 10 });
      const job = jobs.find((one) => one.id === id)?.job;
      expect(job?.kind === 'email' && job.message).toMatchObject({
        to: { name: 'Reader', address: `reader@conformance-${hook}.test` },
        messageId: `<${id}@ghost.test>`,
        text: 'Hello\n\n-- \nYou get this because: you watch',
        headers: { 'X-Ghost-Reason': 'you watch' },
      });
    });

    test('a key that exists is dropped, and the first content stays', async () => {
      const { harness, queue, hook } = bench();
      const eventId = await harness.event();
      const enqueueKey = (id: string, body: string) =>
        harness.inTransaction(async (tx) => {
          const contentId = await queue.storeContent(tx, { kind: 'webhook', eventId, body });
          return queue.enqueue(tx, [
            {
              id,
              idempotencyKey: `webhook:${eventId}:${hook}`,
              eventId,
              contentId,
              lane: `hook:${hook}`,
              repositoryId: 1,
              kind: 'webhook',
              hookId: hook,
              own: { event: 'ping' },
            },
          ]);
        });
      const first = '018f0000-0000-7000-8000-00000000000';
      expect(await enqueueKey(`${first}${hook % 10}`, '{"first":1}')).toBe(1);
      expect(await enqueueKey(`${first.replace('018f', '018e')}${hook % 10}`, '{"second":1}')).toBe(
        0,
      );
      const jobs = await claimWebhooks(queue);
      expect(jobs.map(({ job }) => job.kind === 'webhook' && job.body)).toEqual(['{"first":1}']);
    });

    test('a second enqueue in one transaction throws instead of risking a deadlock', async () => {
      const { harness, queue, hook } = bench();
      const eventId = await harness.event();
      await expect(
        harness.inTransaction(async (tx) => {
          await webhooksIn(tx, queue, eventId, hook, 1);
          await webhooksIn(tx, queue, eventId, hook, 1);
        }),
      ).rejects.toThrow();
      expect(await claimWebhooks(queue)).toEqual([]);
    });

    test('nothing is claimed for what did not commit', async () => {
      const { harness, queue, hook } = bench();
      const open = await harness.open();
      await webhooksIn(open.tx, queue, await harness.event(), hook, 2);
      expect(await claimWebhooks(queue)).toEqual([]);
      await open.rollback();
      expect(await claimWebhooks(queue)).toEqual([]);
      expect(await dueInMs(queue, WEBHOOKS)).toBeNull();
    });

    test('a claim beside an open enqueue neither waits nor strands its jobs', async () => {
      const { harness, queue, hook } = bench();
      await enqueueWebhooks(harness, queue, hook, 1);
      const open = await harness.open();
      const [second] = await webhooksIn(open.tx, queue, await harness.event(), hook, 1);
      // The lane is locked by the open transaction: passed over, and still due.
      expect(await claimWebhooks(queue)).toEqual([]);
      expect(await dueInMs(queue, WEBHOOKS)).toBe(0);
      await open.commit();
      const jobs = await claimWebhooks(queue);
      expect(jobs).toHaveLength(2);
      expect(jobs.map((job) => job.id)).toContain(second);
    });

    test('a job that commits into an emptied lane is due at once', async () => {
      const { harness, queue, hook } = bench();
      await enqueueWebhooks(harness, queue, hook, 1);
      const open = await harness.open();
      // Its transaction began before the claim that empties the lane, and so does its run_at.
      await open.tx.query('SELECT now()', []);
      await queue.settle((await claimWebhooks(queue)).map((job) => settlement(job, 'delivered')));
      expect(await claimWebhooks(queue)).toEqual([]);
      const [late] = await webhooksIn(open.tx, queue, await harness.event(), hook, 1);
      await open.commit();
      expect(await dueInMs(queue, WEBHOOKS)).toBe(0);
      expect((await claimWebhooks(queue)).map((job) => job.id)).toEqual([late]);
    });
  });
}
