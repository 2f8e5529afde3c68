import { describe, expect, test } from 'vitest';

import { waitUntil } from '../../../test/support/wait-until.js';
import {
  claimWebhooks,
  enqueueWebhooks,
  type QueueBench,
  SHORT_LEASE_MS,
  WEBHOOKS,
  dueInMs,
} from './queue-harness.js';

/** How leases are extended and given back. */
export function leaseConformance(bench: () => QueueBench): void {
  describe('leases', () => {
    test('extend moves the end of held leases and names the lost ones', async () => {
      const { harness, queue, hook } = bench();
      const brief = harness.engine({ leaseMs: SHORT_LEASE_MS, laneSlots: 10 });
      await enqueueWebhooks(harness, brief, hook, 2);
      const [kept, lost] = await claimWebhooks(brief);
      if (!kept || !lost) throw new Error('nothing claimed');
      expect(await queue.extend([kept, { ...lost, leaseNo: lost.leaseNo + 5 }])).toEqual(
        new Set([kept]),
      );
      await waitUntil(async () => (await queue.confirm(lost)) === 'lost', {
        what: 'the other lease to end',
      });
      expect(await queue.confirm(kept)).toBe('current');
      expect((await claimWebhooks(queue)).map((job) => job.id)).toEqual([lost.id]);
    });

    test('of two leases of one job only the current one is held', async () => {
      const { harness, queue, hook } = bench();
      await enqueueWebhooks(harness, queue, hook, 1);
      const [old] = await claimWebhooks(queue);
      if (!old) throw new Error('nothing claimed');
      await queue.release([old]);
      const [current] = await claimWebhooks(queue);
      if (!current) throw new Error('not claimed again');
      expect(current.id).toBe(old.id);
      expect(await queue.extend([old, current])).toEqual(new Set([current]));
      expect(await queue.extend([old])).toEqual(new Set());
    });

    test('a worker with shorter leases does not shorten one that it extends', async () => {
      const { harness, queue, hook } = bench();
      const brief = harness.engine({ leaseMs: SHORT_LEASE_MS, laneSlots: 10 });
      await enqueueWebhooks(harness, queue, hook, 2);
      const [long, short] = await claimWebhooks(queue);
      if (!long || !short) throw new Error('nothing claimed');
      await queue.release([short]);
      const [brieflyHeld] = await claimWebhooks(brief);
      if (!brieflyHeld) throw new Error('not claimed again');
      expect(await brief.extend([long, brieflyHeld])).toEqual(new Set([long, brieflyHeld]));
      await waitUntil(async () => (await queue.confirm(brieflyHeld)) === 'lost', {
        what: 'the shorter lease to end',
      });
      expect(await queue.confirm(long)).toBe('current');
    });

    test('an extend that comes after the end does not revive a lease', async () => {
      const { harness, queue, hook } = bench();
      const brief = harness.engine({ leaseMs: SHORT_LEASE_MS, laneSlots: 10 });
      await enqueueWebhooks(harness, brief, hook, 10);
      const ended = await claimWebhooks(brief);
      await waitUntil(async () => (await dueInMs(queue, WEBHOOKS)) === 0, {
        what: 'the leases to end',
      });
      expect(await queue.extend(ended)).toEqual(new Set());
      expect(await claimWebhooks(queue)).toHaveLength(10);
    });

    test('release gives a job back at once and charges nothing', async () => {
      const { harness, queue, hook } = bench();
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
      const { harness, queue, hook } = bench();
      await enqueueWebhooks(harness, queue, hook, 12);
      const held = await claimWebhooks(queue);
      expect(held).toHaveLength(10);
      await queue.release(held.slice(0, 4));
      expect(await claimWebhooks(queue)).toHaveLength(4);
    });
  });
}
