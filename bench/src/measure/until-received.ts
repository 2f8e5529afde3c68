import { setTimeout as delay } from 'node:timers/promises';

import type { Receipts, Receiver } from '../receiver/receiver.js';

const POLL_MS = 50;
const SILENT_FOR_MS = 20_000;

/**
 * Waits until so many webhooks came.
 *
 * @throws when none came for 20 s
 */
export async function untilReceived(receiver: Receiver, count: number): Promise<Receipts> {
  let last = 0;
  let changedAt = performance.now();
  for (;;) {
    const receipts = await receiver.receipts();
    if (receipts.count >= count) return receipts;
    if (receipts.count !== last) changedAt = performance.now();
    last = receipts.count;
    if (performance.now() - changedAt > SILENT_FOR_MS) {
      throw new Error(
        `Only ${receipts.count} of ${count} webhooks came, and none in the last ${SILENT_FOR_MS / 1000} s.`,
      );
    }
    await delay(POLL_MS);
  }
}
