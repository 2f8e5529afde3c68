import { Listener } from '@ghost/db';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';

import {
  claimWebhooks,
  dueInMs,
  postgresHarness,
  settlement,
  webhooksIn,
} from '../../conformance/queue-harness.js';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/test-database.js';
import { waitUntil } from '../../../../test/support/wait-until.js';

let database: TestDatabase;
let harness: ReturnType<typeof postgresHarness>;

beforeAll(async () => {
  database = await createTestDatabase();
  harness = postgresHarness(database.url);
});
afterAll(async () => {
  await harness.close();
  await database.drop();
});

// A small generator with a seed, so that a failing run can be played again.
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

test('no job is lost or settled twice while producers, workers, roll-backs, retries and lost leases cross', async () => {
  const seed = Date.now() % 1_000_000;
  const random = randomFrom(seed);
  const queue = harness.engine({ leaseMs: 30_000, laneSlots: 5 });
  const made = new Set<string>();
  const delivered = new Map<string, number>();
  let stale = 0;
  let producing = 3;

  const produce = async () => {
    for (let round = 0; round < 25; round += 1) {
      const open = await harness.open();
      const ids = await webhooksIn(
        open.tx,
        queue,
        await harness.event(),
        1 + Math.floor(random() * 6),
        1 + Math.floor(random() * 8),
      );
      if (random() < 0.2) {
        await open.rollback();
      } else {
        await open.commit();
        for (const id of ids) made.add(id);
      }
    }
    producing -= 1;
  };

  const work = async () => {
    while (producing > 0 || delivered.size < made.size) {
      const jobs = await claimWebhooks(queue, 1 + Math.floor(random() * 20));
      if (jobs.length === 0) {
        // With the work of others in hand there may be nothing for this one.
        await new Promise((resolve) => setImmediate(resolve));
        continue;
      }
      const settlements = [];
      for (const job of jobs) {
        const dice = random();
        if (dice < 0.1) {
          await queue.release([job]);
          const late = await queue.settle([settlement(job, 'delivered')]);
          // What was given back is settled by whoever claims it next.
          stale += 1;
          expect(late).toEqual([]);
        } else if (dice < 0.3) {
          settlements.push(settlement(job, 'retry', { delayMs: 1 }));
        } else {
          settlements.push(settlement(job, 'delivered'));
        }
      }
      for (const settled of await queue.settle(settlements)) {
        if (settled.status === 'delivered')
          delivered.set(settled.id, (delivered.get(settled.id) ?? 0) + 1);
      }
    }
  };

  await Promise.all([produce(), produce(), produce(), work(), work(), work()]);
  const context = `seed ${seed}, stale ${stale}`;
  expect(new Set(delivered.keys()), context).toEqual(made);
  expect(
    [...delivered.values()].filter((times) => times !== 1),
    context,
  ).toEqual([]);
  expect(await dueInMs(queue, { kind: 'webhook', version: 1 }), context).toBeNull();
});

test('a commit of jobs wakes a listener once, and a roll-back does not', async () => {
  const queue = harness.engine();
  const heard: string[] = [];
  const listener = new Listener({
    connectionString: database.url,
    channels: ['ghost_delivery'],
    name: 'test',
    heartbeatMs: 60_000,
    onProblem: (message) => expect.unreachable(message),
    onWake: (why) => heard.push(why),
  });
  await listener.start();
  onTestFinished(() => listener.stop());
  expect(heard).toEqual(['connected']);

  const undone = await harness.open();
  await webhooksIn(undone.tx, queue, await harness.event(), 90, 3);
  await undone.rollback();
  const done = await harness.open();
  await webhooksIn(done.tx, queue, await harness.event(), 91, 3);
  expect(heard).toEqual(['connected']);
  await done.commit();
  await waitUntil(() => heard.length > 1, { what: 'the commit to wake the listener' });

  // Notifications arrive in commit order: what came before this one has been heard with it.
  await harness.pool.query('NOTIFY ghost_delivery');
  await waitUntil(() => heard.length > 2, { what: 'the second notification' });
  expect(heard).toEqual(['connected', 'notified', 'notified']);
});
