import { setTimeout as delay } from 'node:timers/promises';

import { describe, expect, test } from 'vitest';

import { waitUntil } from '../../../test/support/wait-until.js';
import {
  claimWebhooks,
  enqueueWebhooks,
  type QueueBench,
  settlement,
  SHORT_LEASE_MS,
  WEBHOOKS,
  webhooksIn,
  dueInMs,
} from './queue-harness.js';

/** What is handed out: lanes, slots, turns, ends of leases and of lives. */
export function claimConformance(bench: () => QueueBench): void {
  describe('claim', () => {
    test('a lane never has more in flight than its slots, whatever the number of workers', async () => {
      const { harness, queue, hook } = bench();
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
      const { harness, queue, hook } = bench();
      const open = await harness.open();
      await open.tx.query('SELECT now()', []);
      await enqueueWebhooks(harness, queue, hook, 30);
      expect(await claimWebhooks(queue)).toHaveLength(10);
      await webhooksIn(open.tx, queue, await harness.event(), hook, 30);
      await open.commit();
      expect(await claimWebhooks(queue)).toEqual([]);
    });

    test('a lane that enqueuers hand from one to the next is claimed between them', async () => {
      const { harness, queue, hook } = bench();
      // What other tests left due would be looked at first.
      expect(await claimWebhooks(queue)).toEqual([]);
      await enqueueWebhooks(harness, queue, hook, 1);
      await harness.advance(1_000);
      let holder = await harness.open();
      await webhooksIn(holder.tx, queue, await harness.event(), hook, 1);
      let claimed = 0;
      // On a busy machine a claim may have waited its time before the lane is handed on, and waits again a second later.
      for (let tries = 0; claimed === 0 && tries < 10; tries += 1) {
        if (tries > 0) await delay(1_000);
        const eventId = await harness.event();
        const next = await harness.open();
        let ended = false;
        const claiming = claimWebhooks(queue).finally(() => (ended = true));
        await waitUntil(async () => ended || (await harness.isBlocked()), {
          what: 'the claim',
          everyMs: 1,
        });
        const adding = webhooksIn(next.tx, queue, eventId, hook, 1);
        await holder.commit();
        claimed = (await claiming).length;
        await adding;
        holder = next;
      }
      await holder.commit();
      expect(claimed).toBeGreaterThan(1);
    });

    test('a lane that is held for long keeps nobody else’s jobs waiting', async () => {
      const { harness, queue, hook, anotherHook } = bench();
      await enqueueWebhooks(harness, queue, hook, 1);
      await harness.advance(1_000);
      const open = await harness.open();
      await webhooksIn(open.tx, queue, await harness.event(), hook, 1);
      expect(await claimWebhooks(queue)).toEqual([]);
      const other = anotherHook();
      await enqueueWebhooks(harness, queue, other, 1);
      expect(await claimWebhooks(queue)).toMatchObject([{ lane: `hook:${other}` }]);
      await open.commit();
      expect(await claimWebhooks(queue)).toHaveLength(2);
    });

    test('lanes take turns: a long one does not hold up a short one', async () => {
      const { harness, queue, hook, anotherHook } = bench();
      const long = hook;
      const [short, shorter] = [anotherHook(), anotherHook()];
      await enqueueWebhooks(harness, queue, long, 50);
      await enqueueWebhooks(harness, queue, short, 1);
      await enqueueWebhooks(harness, queue, shorter, 1);
      const jobs = await claimWebhooks(queue, 3);
      expect(new Set(jobs.map((job) => job.lane))).toEqual(
        new Set([`hook:${long}`, `hook:${short}`, `hook:${shorter}`]),
      );
    });

    test('what did not fit a claim is due in the next one', async () => {
      const { harness, queue, hook } = bench();
      await enqueueWebhooks(harness, queue, hook, 9);
      expect(await claimWebhooks(queue, 4)).toHaveLength(4);
      expect(await claimWebhooks(queue, 4)).toHaveLength(4);
      expect(await claimWebhooks(queue, 4)).toHaveLength(1);
    });

    test('what one lane has beyond its part of a claim over many lanes is due at once', async () => {
      const { harness, queue, hook, anotherHook } = bench();
      await enqueueWebhooks(harness, queue, hook, 10);
      for (let n = 0; n < 5; n += 1) await enqueueWebhooks(harness, queue, anotherHook(), 1);
      const first = await claimWebhooks(queue, 10);
      expect(new Set(first.map((job) => job.lane)).size).toBe(6);
      expect(await dueInMs(queue, WEBHOOKS)).toBe(0);
      expect(await claimWebhooks(queue, 15)).toHaveLength(15 - first.length);
    });

    test('an expired lease is due again under a higher fence, and the lost try is in the history, uncharged', async () => {
      const { harness, queue, hook } = bench();
      const brief = harness.engine({ leaseMs: SHORT_LEASE_MS, laneSlots: 10 });
      const [id] = await enqueueWebhooks(harness, brief, hook, 1);
      const [lost] = await claimWebhooks(brief);
      expect(await dueInMs(queue, WEBHOOKS)).toBeGreaterThan(0);
      await waitUntil(async () => (await dueInMs(queue, WEBHOOKS)) === 0, {
        what: 'the lease to end',
      });
      const [again] = await claimWebhooks(queue);
      expect(again).toMatchObject({ id, attempts: 0, leaseNo: (lost?.leaseNo ?? 0) + 1 });
      expect(await harness.attempts(id ?? '')).toEqual([
        { outcome: 'abandoned', number: null, reason: 'lease_expired' },
      ]);
    });

    test('a job past its life ends dead and is not handed out', async () => {
      const { harness, queue, hook } = bench();
      const [id = ''] = await enqueueWebhooks(harness, queue, hook, 1);
      await harness.outlive(id);
      expect(await claimWebhooks(queue)).toEqual([]);
      expect(await harness.job(id)).toMatchObject({
        status: 'dead',
        lastError: 'expired',
        leased: false,
      });
      expect(await harness.attempts(id)).toEqual([
        { outcome: 'dead', number: null, reason: 'expired' },
      ]);
    });

    test('a job whose life and lease are over has its lost try in the history, and is not tried again', async () => {
      const { harness, queue, hook } = bench();
      const brief = harness.engine({ leaseMs: SHORT_LEASE_MS, laneSlots: 10 });
      const [id = ''] = await enqueueWebhooks(harness, brief, hook, 1);
      expect(await claimWebhooks(brief)).toHaveLength(1);
      await harness.outlive(id);
      await waitUntil(async () => (await dueInMs(queue, WEBHOOKS)) === 0, {
        what: 'the lease to end',
      });
      expect(await claimWebhooks(queue)).toEqual([]);
      expect(await harness.job(id)).toMatchObject({ status: 'dead', lastError: 'expired' });
      expect(await harness.attempts(id)).toEqual([
        { outcome: 'abandoned', number: null, reason: 'lease_expired' },
      ]);
    });

    test('jobs past their life take no slot, and a lane full of them does not stand still', async () => {
      const { harness, queue, hook } = bench();
      const old = await enqueueWebhooks(harness, queue, hook, 60);
      for (const id of old) await harness.outlive(id);
      const fresh = await enqueueWebhooks(harness, queue, hook, 5);
      const jobs = await claimWebhooks(queue);
      expect(jobs.map((job) => job.id).toSorted()).toEqual(fresh.toSorted());
      const states = await Promise.all(old.map(async (id) => (await harness.job(id)).status));
      expect(new Set(states)).toEqual(new Set(['dead']));
    });

    test('a version that the worker does not know waits, costs no attempt and spins no timer', async () => {
      const { harness, queue, hook } = bench();
      const [id = ''] = await enqueueWebhooks(harness, queue, hook, 1, { version: 2 });
      expect(await claimWebhooks(queue)).toEqual([]);
      expect(await dueInMs(queue, WEBHOOKS)).toBeNull();
      expect(await harness.job(id)).toMatchObject({
        status: 'pending',
        attempts: 0,
        abandoned: 0,
      });
      expect(await dueInMs(queue, { kind: 'webhook', version: 2 })).toBe(0);
    });
  });
}
