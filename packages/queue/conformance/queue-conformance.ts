import type { Queue } from '@ghost/queue';
import { afterAll, beforeAll, beforeEach, describe } from 'vitest';

import { claimConformance } from './claim-conformance.js';
import { controlConformance } from './control-conformance.js';
import { enqueueConformance } from './enqueue-conformance.js';
import { leaseConformance } from './lease-conformance.js';
import type { QueueBench, QueueHarness } from './queue-harness.js';
import { rateConformance } from './rate-conformance.js';
import { relayConformance } from './relay-conformance.js';
import { settleConformance } from './settle-conformance.js';
import { standingConformance } from './standing-conformance.js';
import { suspectConformance } from './suspect-conformance.js';

/** What every engine of the queue must do; `make` gives a harness on an empty queue. */
export function queueConformance(name: string, make: () => Promise<QueueHarness>): void {
  describe(`${name} conforms to the queue`, () => {
    let harness: QueueHarness;
    let queue: Queue;
    let hooks = 0;
    const anotherHook = () => (hooks += 1);
    const bench = (): QueueBench => ({ harness, queue, hook: anotherHook(), anotherHook });

    beforeAll(async () => {
      harness = await make();
      queue = harness.engine({ laneSlots: 10 });
    });
    beforeEach(() => harness.clear());
    afterAll(() => harness.close());

    enqueueConformance(bench);
    claimConformance(bench);
    settleConformance(bench);
    leaseConformance(bench);
    controlConformance(bench);
    standingConformance(bench);
    rateConformance(bench);
    relayConformance(bench);
    suspectConformance(bench);
  });
}
