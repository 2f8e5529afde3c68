import { hookLane } from '@ghost/queue';
import { describe, expect, test } from 'vitest';

import { waitUntil } from '../../../test/support/wait-until.js';
import {
  claimWebhooks,
  enqueueMail,
  enqueueWebhooks,
  MAILS,
  type QueueBench,
  settlement,
  WEBHOOKS,
  webhooksIn,
  dueInMs,
} from './queue-harness.js';

/** Cancelling, holding, resuming, redelivering, and the relay at rest. */
export function controlConformance(bench: () => QueueBench): void {
  describe('what people do to jobs', () => {
    test('cancel ends pending jobs, and a result that comes later does not count', async () => {
      const { harness, queue, hook } = bench();
      const [id = ''] = await enqueueWebhooks(harness, queue, hook, 1);
      const [job] = await claimWebhooks(queue);
      if (!job) throw new Error('nothing claimed');
      expect(
        await harness.inTransaction((tx) => queue.cancel(tx, { jobIds: [id] }, 'discarded')),
      ).toBe(1);
      expect(await queue.confirm(job)).toBe('lost');
      expect(await queue.settle([settlement(job, 'delivered')])).toEqual([]);
      expect(await harness.job(id)).toMatchObject({
        status: 'cancelled',
        lastError: 'discarded',
        leased: false,
      });
    });

    test('cancelling what is in flight frees the slots of a full lane', async () => {
      const { harness, queue, hook } = bench();
      await enqueueWebhooks(harness, queue, hook, 12);
      const held = await claimWebhooks(queue);
      await harness.inTransaction((tx) =>
        queue.cancel(tx, { jobIds: held.slice(0, 3).map((job) => job.id) }, 'comment_deleted'),
      );
      expect(await claimWebhooks(queue)).toHaveLength(2);
    });

    test('cancelling events ends what they still have pending, in flight or not, and nothing else', async () => {
      const { harness, queue, hook } = bench();
      const events = [await harness.event(), await harness.event(), await harness.event()];
      const enqueue = (eventId: string) =>
        harness.inTransaction((tx) => webhooksIn(tx, queue, eventId, hook, 3));
      const [flying, waiting, other] = [
        await enqueue(events[0] ?? ''),
        await enqueue(events[1] ?? ''),
        await enqueue(events[2] ?? ''),
      ];
      const inFlight = (await claimWebhooks(queue)).filter((job) => flying.includes(job.id));
      const [done, ...rest] = inFlight;
      if (!done) throw new Error('nothing claimed');
      await queue.settle([settlement(done, 'delivered')]);
      const eventIds = events.slice(0, 2);
      const cancel = (ids: readonly string[]) =>
        harness.inTransaction((tx) => queue.cancel(tx, { eventIds: ids }, 'comment_deleted'));
      expect(await cancel(eventIds)).toBe(5);
      expect(await cancel(eventIds)).toBe(0);
      expect(await cancel([])).toBe(0);
      expect(await queue.settle(rest.map((job) => settlement(job, 'delivered')))).toEqual([]);
      for (const id of [...flying, ...waiting]) {
        const ended = id === done.id ? 'delivered' : 'cancelled';
        expect(await harness.job(id)).toMatchObject({ status: ended });
      }
      for (const id of other) expect(await harness.job(id)).toMatchObject({ status: 'pending' });
    });

    test('of a deleted hook nothing is claimed any more; steps end it, but for what is sent just now, and its lane goes', async () => {
      const { harness, queue, hook, anotherHook } = bench();
      const lane = hookLane(hook);
      const ids = await enqueueWebhooks(harness, queue, hook, 5);
      const [flying] = await claimWebhooks(queue, 1);
      if (!flying) throw new Error('nothing claimed');
      await harness.inTransaction((tx) =>
        queue.cancelLater(tx, [{ hookId: hook }], 'hook_deleted'),
      );
      const other = anotherHook();
      const [kept = ''] = await enqueueWebhooks(harness, queue, other, 1);
      expect((await claimWebhooks(queue)).map((job) => job.id)).toEqual([kept]);
      const step = () => harness.inTransaction((tx) => queue.cancelSome(tx, 3));
      const done = { ended: [], waitMs: 0, target: lane };
      // Of its first three jobs one is in hand.
      expect(await step()).toEqual({ ...done, cancelled: 2 });
      expect(await step()).toEqual({ ...done, cancelled: 2 });
      const waiting = await step();
      expect(waiting).toMatchObject({ cancelled: 0, target: null, ended: [] });
      expect(waiting.waitMs).toBeGreaterThan(0);
      expect(await queue.settle([settlement(flying, 'retry')])).toHaveLength(1);
      expect(await step()).toEqual({ ...done, cancelled: 1 });
      expect(await step()).toEqual({ cancelled: 0, target: null, ended: [lane], waitMs: null });
      for (const id of ids) {
        expect(await harness.job(id)).toMatchObject({
          ...{ status: 'cancelled', lastError: 'hook_deleted' },
          tries: id === flying.id ? 1 : 0,
        });
      }
      expect([...(await harness.lanes([lane, hookLane(other)])).keys()]).toEqual([hookLane(other)]);
      expect(await harness.job(kept)).toMatchObject({ status: 'pending', leased: true });
      // Without a lane nobody would ever claim it.
      expect(await harness.inTransaction((tx) => queue.redeliver(tx, ids))).toEqual([]);
    });

    test('mail of a deleted repository is sent no more, also where a worker has it; steps end all of it', async () => {
      const { harness, queue, hook } = bench();
      const address = `reader@conformance-${hook}.test`;
      const id = await enqueueMail(harness, queue, 3000 + hook, address);
      const [mail] = (await queue.claim({ ...MAILS, jobs: 10, lanes: 10 })).jobs;
      if (!mail) throw new Error('nothing claimed');
      const target = { repositoryId: 1 };
      await harness.inTransaction((tx) => queue.cancelLater(tx, [target], 'repository_deleted'));
      expect(await queue.confirm(mail)).toBe('repository_deleted');
      const step = () => harness.inTransaction((tx) => queue.cancelSome(tx, 500));
      expect(await step()).toMatchObject({ target: 'repository:1', ended: [] });
      expect(await step()).toMatchObject({ cancelled: 0, ended: ['repository:1'], waitMs: null });
      expect(await queue.confirm(mail)).toBe('lost');
      expect(await harness.job(id)).toMatchObject({
        ...{ status: 'cancelled', lastError: 'repository_deleted', leased: false },
      });
    });

    test('hold keeps what is enqueued later; resume sends it', async () => {
      const { harness, queue, hook } = bench();
      await harness.inTransaction((tx) => queue.hold(tx, `hook:${hook}`, 'paused'));
      await enqueueWebhooks(harness, queue, hook, 2);
      expect(await claimWebhooks(queue)).toEqual([]);
      expect(await dueInMs(queue, WEBHOOKS)).toBeNull();
      await harness.inTransaction((tx) => queue.resume(tx, `hook:${hook}`));
      expect(await claimWebhooks(queue)).toHaveLength(2);
    });

    test('a redelivery has the same id and bytes and a fresh budget', async () => {
      const { harness, queue, hook } = bench();
      const [id = ''] = await enqueueWebhooks(harness, queue, hook, 1, {
        body: '{"same":"bytes"}',
      });
      const [job] = await claimWebhooks(queue);
      if (!job) throw new Error('nothing claimed');
      await queue.settle([settlement(job, 'dead', { reason: 'attempts_exhausted' })]);
      expect(await harness.inTransaction((tx) => queue.redeliver(tx, [id]))).toEqual([id]);
      const [again] = await claimWebhooks(queue);
      expect(again).toMatchObject({ id, attempts: 0, tries: 1, redelivery: true });
      expect(again?.job).toEqual(job.job);
    });

    test('mail that was cancelled for lost access is not redelivered', async () => {
      const { harness, queue, hook } = bench();
      const id = await enqueueMail(harness, queue, 1000 + hook, `gone@conformance-${hook}.test`);
      await harness.inTransaction((tx) =>
        queue.cancel(tx, { repositoryId: 1, accountId: 1000 + hook }, 'access_lost'),
      );
      expect(await harness.job(id)).toMatchObject({ status: 'cancelled' });
      expect(await harness.inTransaction((tx) => queue.redeliver(tx, [id]))).toEqual([]);
    });

    test('what was cancelled with its comment is not redelivered', async () => {
      const { harness, queue, hook } = bench();
      const eventId = await harness.event();
      const ids = await harness.inTransaction((tx) => webhooksIn(tx, queue, eventId, hook, 1));
      await harness.inTransaction((tx) =>
        queue.cancel(tx, { eventIds: [eventId] }, 'comment_deleted'),
      );
      expect(await harness.inTransaction((tx) => queue.redeliver(tx, ids))).toEqual([]);
    });

    test('while the relay rests no mail is claimed, and webhooks go on', async () => {
      const { harness, queue, hook } = bench();
      await enqueueMail(harness, queue, 2000 + hook, `rest@conformance-${hook}.test`);
      await enqueueWebhooks(harness, queue, hook, 1);
      await queue.pauseRelay('authentication_refused', [400]);
      const mails = () => queue.claim({ kind: 'email', version: 1, jobs: 10, lanes: 10 });
      expect((await mails()).jobs).toEqual([]);
      expect(await claimWebhooks(queue)).toHaveLength(1);
      expect(await dueInMs(queue, MAILS)).toBeGreaterThan(0);
      const due = await waitUntil(
        async () => {
          const { jobs } = await mails();
          return jobs.length > 0 && jobs;
        },
        { what: 'the relay’s rest to end' },
      );
      expect(await harness.relay()).toBe('authentication_refused');
      await queue.settle(due.map((job) => settlement(job, 'delivered')));
      expect(await harness.relay()).toBeNull();
    });
  });
}
