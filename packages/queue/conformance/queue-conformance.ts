import type { Queue } from '@ghost/queue';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { waitUntil } from '../../../test/support/wait-until.js';
import {
  claimWebhooks,
  enqueueMail,
  enqueueWebhooks,
  type QueueHarness,
  settlement,
  webhooksIn,
} from './queue-harness.js';

const WEBHOOKS = [{ kind: 'webhook', version: 1 }] as const;
const MAILS = [{ kind: 'email', version: 1 }] as const;
const SHORT_LEASE_MS = 300;

/** What every engine of the queue must do; `make` gives a harness on an empty queue. */
export function queueConformance(name: string, make: () => Promise<QueueHarness>): void {
  describe(`${name} conforms to the queue`, () => {
    let harness: QueueHarness;
    let queue: Queue;
    // Hooks are numbered, so that no two tests share a lane.
    let hook = 0;

    beforeAll(async () => {
      harness = await make();
      queue = harness.engine({ laneSlots: 10 });
    });
    beforeEach(async () => {
      hook += 1;
      await harness.clear();
    });
    afterAll(() => harness.close());

    describe('enqueue', () => {
      test('a job is claimed once, finished, with the bytes that were stored', async () => {
        const body = '{"text":"“quotes”, 漢字, 👋"}';
        const [id] = await enqueueWebhooks(harness, queue, hook, 1, { body });
        const [job, ...others] = await claimWebhooks(queue);
        expect(others).toEqual([]);
        expect(job).toMatchObject({ id, attempts: 0, tries: 0, redelivery: false });
        expect(job?.job).toMatchObject({ kind: 'webhook', hookId: hook, event: 'ping', body });
        expect(await claimWebhooks(queue)).toEqual([]);
      });

      test('every job of an event gets the content that is stored once', async () => {
        await enqueueWebhooks(harness, queue, hook, 3, { body: '{"shared":true}' });
        const jobs = await claimWebhooks(queue);
        expect(jobs.map(({ job }) => job.kind === 'webhook' && job.body)).toEqual(
          Array(3).fill('{"shared":true}'),
        );
      });

      test('a mail is joined from the shared and the reader’s own parts', async () => {
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
        expect(
          await enqueueKey(`${first.replace('018f', '018e')}${hook % 10}`, '{"second":1}'),
        ).toBe(0);
        const jobs = await claimWebhooks(queue);
        expect(jobs.map(({ job }) => job.kind === 'webhook' && job.body)).toEqual(['{"first":1}']);
      });

      test('a second enqueue in one transaction throws instead of risking a deadlock', async () => {
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
        const open = await harness.open();
        await webhooksIn(open.tx, queue, await harness.event(), hook, 2);
        expect(await claimWebhooks(queue)).toEqual([]);
        await open.rollback();
        expect(await claimWebhooks(queue)).toEqual([]);
        expect(await queue.nextDue(WEBHOOKS)).toBeNull();
      });

      test('a claim beside an open enqueue neither waits nor strands its jobs', async () => {
        await enqueueWebhooks(harness, queue, hook, 1);
        const open = await harness.open();
        const [second] = await webhooksIn(open.tx, queue, await harness.event(), hook, 1);
        // The lane is locked by the open transaction: passed over, and still due.
        expect(await claimWebhooks(queue)).toEqual([]);
        expect(await queue.nextDue(WEBHOOKS)).toBe(0);
        await open.commit();
        const jobs = await claimWebhooks(queue);
        expect(jobs).toHaveLength(2);
        expect(jobs.map((job) => job.id)).toContain(second);
      });

      test('a job that commits into an emptied lane is due at once', async () => {
        await enqueueWebhooks(harness, queue, hook, 1);
        const open = await harness.open();
        // Its transaction began before the claim that empties the lane, and so does its run_at.
        await open.tx.query('SELECT now()', []);
        await queue.settle((await claimWebhooks(queue)).map((job) => settlement(job, 'delivered')));
        expect(await claimWebhooks(queue)).toEqual([]);
        const [late] = await webhooksIn(open.tx, queue, await harness.event(), hook, 1);
        await open.commit();
        expect(await queue.nextDue(WEBHOOKS)).toBe(0);
        expect((await claimWebhooks(queue)).map((job) => job.id)).toEqual([late]);
      });
    });

    describe('claim', () => {
      test('a lane never has more in flight than its slots, whatever the number of workers', async () => {
        const other = harness.engine({ laneSlots: 10 });
        await enqueueWebhooks(harness, queue, hook, 30);
        const claims = await Promise.all([
          claimWebhooks(queue),
          claimWebhooks(other),
          claimWebhooks(queue),
        ]);
        const held = claims.flat();
        expect(held).toHaveLength(10);
        expect(await claimWebhooks(other)).toEqual([]);
        await queue.settle(held.slice(0, 3).map((job) => settlement(job, 'delivered')));
        expect(await claimWebhooks(other)).toHaveLength(3);
        expect(await claimWebhooks(queue)).toEqual([]);
      });

      test('older jobs that commit late do not open a full lane', async () => {
        const open = await harness.open();
        await open.tx.query('SELECT now()', []);
        await enqueueWebhooks(harness, queue, hook, 30);
        expect(await claimWebhooks(queue)).toHaveLength(10);
        await webhooksIn(open.tx, queue, await harness.event(), hook, 30);
        await open.commit();
        expect(await claimWebhooks(queue)).toEqual([]);
      });

      test('lanes take turns: a long one does not hold up a short one', async () => {
        const long = hook;
        const [short, shorter] = [(hook += 1), (hook += 1)];
        await enqueueWebhooks(harness, queue, long, 50);
        await enqueueWebhooks(harness, queue, short, 1);
        await enqueueWebhooks(harness, queue, shorter, 1);
        const jobs = await claimWebhooks(queue, 3);
        expect(new Set(jobs.map((job) => job.lane))).toEqual(
          new Set([`hook:${long}`, `hook:${short}`, `hook:${shorter}`]),
        );
      });

      test('what did not fit a claim is due in the next one', async () => {
        await enqueueWebhooks(harness, queue, hook, 9);
        expect(await claimWebhooks(queue, 4)).toHaveLength(4);
        expect(await claimWebhooks(queue, 4)).toHaveLength(4);
        expect(await claimWebhooks(queue, 4)).toHaveLength(1);
      });

      test('an expired lease is due again under a higher fence, and the lost try is in the history, uncharged', async () => {
        const brief = harness.engine({ leaseMs: SHORT_LEASE_MS, laneSlots: 10 });
        const [id] = await enqueueWebhooks(harness, brief, hook, 1);
        const [lost] = await claimWebhooks(brief);
        expect(await queue.nextDue(WEBHOOKS)).toBeGreaterThan(0);
        await waitUntil(async () => (await queue.nextDue(WEBHOOKS)) === 0, {
          what: 'the lease to end',
        });
        const [again] = await claimWebhooks(queue);
        expect(again).toMatchObject({ id, attempts: 0, leaseNo: (lost?.leaseNo ?? 0) + 1 });
        expect(await harness.attempts(id ?? '')).toEqual([
          { outcome: 'abandoned', number: null, reason: 'lease_expired' },
        ]);
      });

      test('a job past its life ends dead and is not handed out', async () => {
        const [id = ''] = await enqueueWebhooks(harness, queue, hook, 1);
        await harness.outlive(id);
        expect(await claimWebhooks(queue)).toEqual([]);
        expect(await harness.job(id)).toMatchObject({
          status: 'dead',
          lastError: 'expired',
          leased: false,
        });
      });

      test('jobs past their life take no slot, and a lane full of them does not stand still', async () => {
        const old = await enqueueWebhooks(harness, queue, hook, 60);
        for (const id of old) await harness.outlive(id);
        const fresh = await enqueueWebhooks(harness, queue, hook, 5);
        const jobs = await claimWebhooks(queue);
        expect(jobs.map((job) => job.id).toSorted()).toEqual(fresh.toSorted());
        const states = await Promise.all(old.map(async (id) => (await harness.job(id)).status));
        expect(new Set(states)).toEqual(new Set(['dead']));
      });

      test('a version that the worker does not know waits, costs no attempt and spins no timer', async () => {
        const [id = ''] = await enqueueWebhooks(harness, queue, hook, 1, { version: 2 });
        expect(await claimWebhooks(queue)).toEqual([]);
        expect(await queue.nextDue(WEBHOOKS)).toBeNull();
        expect(await harness.job(id)).toMatchObject({
          status: 'pending',
          attempts: 0,
          abandoned: 0,
        });
        expect(await queue.nextDue([{ kind: 'webhook', version: 2 }])).toBe(0);
      });
    });

    describe('settle', () => {
      test('delivered, dead and cancelled are ends', async () => {
        const ids = await enqueueWebhooks(harness, queue, hook, 3);
        const jobs = await claimWebhooks(queue);
        const ends = ['delivered', 'dead', 'cancelled'] as const;
        await queue.settle(jobs.map((job, index) => settlement(job, ends[index] ?? 'dead')));
        const states = await Promise.all(ids.map(async (id) => (await harness.job(id)).status));
        expect(states.toSorted()).toEqual(['cancelled', 'dead', 'delivered']);
        expect(await claimWebhooks(queue)).toEqual([]);
        expect(await queue.nextDue(WEBHOOKS)).toBeNull();
      });

      test('a retry is charged, waits its delay and is due again', async () => {
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
        const due = await queue.nextDue(WEBHOOKS);
        expect(due).toBeGreaterThan(0);
        expect(due).toBeLessThanOrEqual(200);
        await waitUntil(async () => (await queue.nextDue(WEBHOOKS)) === 0, {
          what: 'the retry to be due',
        });
        expect((await claimWebhooks(queue)).map((one) => one.id)).toEqual([id]);
        expect(await harness.attempts(id)).toEqual([
          { outcome: 'retry', number: 1, reason: 'status_500' },
        ]);
      });

      test('a result counts only under the current fence', async () => {
        const brief = harness.engine({ leaseMs: SHORT_LEASE_MS, laneSlots: 10 });
        const [id = ''] = await enqueueWebhooks(harness, brief, hook, 1);
        const [stale] = await claimWebhooks(brief);
        await waitUntil(async () => (await queue.nextDue(WEBHOOKS)) === 0, {
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
        const [first = '', second = ''] = await enqueueWebhooks(harness, queue, hook, 2);
        const [job] = await claimWebhooks(queue, 1);
        if (!job) throw new Error('nothing claimed');
        await queue.settle([settlement(job, 'held', { reason: 'gone' })]);
        expect(await claimWebhooks(queue)).toEqual([]);
        expect(await queue.nextDue(WEBHOOKS)).toBeNull();
        await enqueueWebhooks(harness, queue, hook, 1);
        expect(await claimWebhooks(queue)).toEqual([]);
        expect(await queue.nextDue(WEBHOOKS)).toBeNull();
        expect(await harness.inTransaction((tx) => queue.resume(tx, `hook:${hook}`))).toBe(true);
        const resumed = await claimWebhooks(queue);
        expect(resumed.map((one) => one.id)).toEqual(expect.arrayContaining([first, second]));
        expect(resumed).toHaveLength(3);
      });

      test('a lane that must rest is not due before its time, and others go on', async () => {
        const resting = hook;
        const other = (hook += 1);
        await enqueueWebhooks(harness, queue, resting, 2);
        const [job] = await claimWebhooks(queue, 1);
        if (!job) throw new Error('nothing claimed');
        await queue.settle([
          settlement(job, 'retry', { reason: 'status_429', delayMs: 1, laneRestMs: 60_000 }),
        ]);
        await enqueueWebhooks(harness, queue, resting, 1);
        await enqueueWebhooks(harness, queue, other, 1);
        expect((await claimWebhooks(queue)).map((one) => one.lane)).toEqual([`hook:${other}`]);
        const due = await queue.nextDue(WEBHOOKS);
        expect(due).toBeGreaterThan(0);
      });

      test('hostile text in an answer is stored and the job is settled', async () => {
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

    describe('leases', () => {
      test('extend moves the end of held leases and names the lost ones', async () => {
        const brief = harness.engine({ leaseMs: SHORT_LEASE_MS, laneSlots: 10 });
        await enqueueWebhooks(harness, brief, hook, 2);
        const [kept, lost] = await claimWebhooks(brief);
        if (!kept || !lost) throw new Error('nothing claimed');
        expect(await queue.extend([kept, { ...lost, leaseNo: lost.leaseNo + 5 }])).toEqual(
          new Set([kept.id]),
        );
        await waitUntil(async () => (await queue.confirm(lost)) === 'lost', {
          what: 'the other lease to end',
        });
        expect(await queue.confirm(kept)).toBe('current');
        expect((await claimWebhooks(queue)).map((job) => job.id)).toEqual([lost.id]);
      });

      test('an extend that comes after the end does not revive a lease', async () => {
        const brief = harness.engine({ leaseMs: SHORT_LEASE_MS, laneSlots: 10 });
        await enqueueWebhooks(harness, brief, hook, 10);
        const ended = await claimWebhooks(brief);
        await waitUntil(async () => (await queue.nextDue(WEBHOOKS)) === 0, {
          what: 'the leases to end',
        });
        expect(await queue.extend(ended)).toEqual(new Set());
        expect(await claimWebhooks(queue)).toHaveLength(10);
      });

      test('release gives a job back at once and charges nothing', async () => {
        const [id = ''] = await enqueueWebhooks(harness, queue, hook, 1);
        const [job] = await claimWebhooks(queue);
        if (!job) throw new Error('nothing claimed');
        expect(await queue.release([job])).toBe(1);
        expect(await harness.job(id)).toMatchObject({
          attempts: 0,
          tries: 0,
          abandoned: 0,
          leased: false,
        });
        expect((await claimWebhooks(queue)).map((one) => one.id)).toEqual([id]);
        expect(await queue.release([job])).toBe(0);
        expect(await harness.attempts(id)).toEqual([]);
      });

      test('releasing part of a full lane frees its slots', async () => {
        await enqueueWebhooks(harness, queue, hook, 12);
        const held = await claimWebhooks(queue);
        expect(held).toHaveLength(10);
        await queue.release(held.slice(0, 4));
        expect(await claimWebhooks(queue)).toHaveLength(4);
      });
    });

    describe('what people do to jobs', () => {
      test('cancel ends pending jobs, and a result that comes later does not count', async () => {
        const [id = ''] = await enqueueWebhooks(harness, queue, hook, 1);
        const [job] = await claimWebhooks(queue);
        if (!job) throw new Error('nothing claimed');
        expect(
          await harness.inTransaction((tx) => queue.cancel(tx, { hookId: hook }, 'hook_deleted')),
        ).toBe(1);
        expect(await queue.confirm(job)).toBe('lost');
        expect(await queue.settle([settlement(job, 'delivered')])).toEqual([]);
        expect(await harness.job(id)).toMatchObject({
          status: 'cancelled',
          lastError: 'hook_deleted',
          leased: false,
        });
      });

      test('cancelling what is in flight frees the slots of a full lane', async () => {
        await enqueueWebhooks(harness, queue, hook, 12);
        const held = await claimWebhooks(queue);
        await harness.inTransaction((tx) =>
          queue.cancel(tx, { jobIds: held.slice(0, 3).map((job) => job.id) }, 'comment_deleted'),
        );
        expect(await claimWebhooks(queue)).toHaveLength(2);
      });

      test('cancelling events ends what they still have pending, in flight or not, and nothing else', async () => {
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

      test('hold keeps what is enqueued later; resume sends it', async () => {
        await harness.inTransaction((tx) => queue.hold(tx, `hook:${hook}`, 'paused'));
        await enqueueWebhooks(harness, queue, hook, 2);
        expect(await claimWebhooks(queue)).toEqual([]);
        expect(await queue.nextDue(WEBHOOKS)).toBeNull();
        await harness.inTransaction((tx) => queue.resume(tx, `hook:${hook}`));
        expect(await claimWebhooks(queue)).toHaveLength(2);
      });

      test('a redelivery has the same id and bytes and a fresh budget', async () => {
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
        const id = await enqueueMail(harness, queue, 1000 + hook, `gone@conformance-${hook}.test`);
        await harness.inTransaction((tx) =>
          queue.cancel(tx, { repositoryId: 1, accountId: 1000 + hook }, 'access_lost'),
        );
        expect(await harness.job(id)).toMatchObject({ status: 'cancelled' });
        expect(await harness.inTransaction((tx) => queue.redeliver(tx, [id]))).toEqual([]);
      });

      test('what was cancelled with its comment is not redelivered', async () => {
        const eventId = await harness.event();
        const ids = await harness.inTransaction((tx) => webhooksIn(tx, queue, eventId, hook, 1));
        await harness.inTransaction((tx) =>
          queue.cancel(tx, { eventIds: [eventId] }, 'comment_deleted'),
        );
        expect(await harness.inTransaction((tx) => queue.redeliver(tx, ids))).toEqual([]);
      });

      test('while the relay rests no mail is claimed, and webhooks go on', async () => {
        await enqueueMail(harness, queue, 2000 + hook, `rest@conformance-${hook}.test`);
        await enqueueWebhooks(harness, queue, hook, 1);
        await queue.pauseRelay('authentication_refused', 400);
        const mails = () => queue.claim({ kind: 'email', version: 1, jobs: 10, lanes: 10 });
        expect((await mails()).jobs).toEqual([]);
        expect(await claimWebhooks(queue)).toHaveLength(1);
        expect(await queue.nextDue(MAILS)).toBeGreaterThan(0);
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
  });
}
