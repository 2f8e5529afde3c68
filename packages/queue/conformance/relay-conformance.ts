import type { Queue } from '@ghost/queue';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import type { QueueBench } from './queue-harness.js';

const EVERY_MS = 60_000;
const BATCH_MS = 60_000;
/** What a run takes by itself counts, too. */
const DRIFT_MS = 5_000;
const DAY_MS = 86_400_000;

/** When all workers' mails may go to the relay. */
export function relayConformance(bench: () => QueueBench): void {
  describe('turns at the relay', () => {
    const take = (queue: Queue, turns = 1) => queue.takeRelayTurns(turns, EVERY_MS, BATCH_MS);
    // What another test took is long ago.
    beforeEach(() => bench().harness.advance(30 * DAY_MS));

    test('follow one another, whichever workers take them, all at once', async () => {
      const { harness, queue } = bench();
      const workers = [queue, harness.engine(), harness.engine()];
      const first = await take(queue);
      expect(first).toBe(0);
      const batches = [3, 1, 2, 2, 4, 1];
      const taken = await Promise.all(
        batches.map(async (turns, n) => ({
          ...{ turns, inMs: await take(workers[n % workers.length] ?? queue, turns) },
        })),
      );
      let expected = EVERY_MS;
      for (const { turns, inMs } of taken.toSorted((a, b) => a.inMs - b.inMs)) {
        expect(inMs).toBeLessThanOrEqual(expected);
        expect(inMs).toBeGreaterThan(expected - DRIFT_MS);
        expected += turns * EVERY_MS;
      }
    });

    test('that nobody took are lost: no two go at once for them', async () => {
      const { harness, queue } = bench();
      await take(queue);
      await harness.advance(10 * EVERY_MS);
      expect(await take(queue)).toBe(0);
      expect(await take(queue)).toBeGreaterThan(EVERY_MS - DRIFT_MS);
    });

    test('that a dead worker had taken keep the others back for its batch alone', async () => {
      const { harness, queue } = bench();
      await take(harness.engine(), 3);
      const inMs = await take(queue);
      expect(inMs).toBeGreaterThan(3 * EVERY_MS - DRIFT_MS);
      expect(inMs).toBeLessThanOrEqual(3 * EVERY_MS);
    });

    test('come again within a hundred batches where the clock was set back', async () => {
      const { harness, queue } = bench();
      await take(queue);
      await harness.advance(-365 * DAY_MS);
      expect(await take(queue)).toBeLessThanOrEqual(100 * BATCH_MS);
    });
  });

  describe('the rest of the relay', () => {
    const PAUSES_MS = [60_000, 120_000, 240_000];
    const pause = (queue: Queue) => queue.pauseRelay('relay_closing', PAUSES_MS);
    afterEach(() => bench().harness.advance(DAY_MS));

    test('is one for the faults of all workers, and longer after the next', async () => {
      const { harness, queue } = bench();
      const workers = [queue, harness.engine()];
      await harness.advance(30 * DAY_MS);
      const before = (await pause(queue)).failures;
      const rests: { failures: number; pauseMs: number }[] = [];
      for (let n = 0; n < 3; n += 1) {
        await harness.advance(PAUSES_MS.at(-1) ?? 0);
        const told = await Promise.all(workers.map(pause));
        expect(told[0]?.failures).toBe(told[1]?.failures);
        rests.push(...told.slice(0, 1));
      }
      expect(rests.map(({ failures }) => failures - before)).toEqual([1, 2, 3]);
      const lastMs = rests.at(-1)?.pauseMs ?? 0;
      expect(lastMs).toBeLessThanOrEqual(240_000);
      expect(lastMs).toBeGreaterThan(240_000 - DRIFT_MS);
    });
  });
}
