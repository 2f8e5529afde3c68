import { setTimeout as delay } from 'node:timers/promises';

import { expect, test } from 'vitest';

import {
  allDelivered,
  seededDatabase,
  startWorker,
} from '../../../test/support/delivery-worker.js';
import { collectedMemory } from '../../../test/support/collected-memory.js';
import { receiver } from '../../../test/support/servers-of-a-test.js';
import { waitUntil } from '../../../test/support/wait-until.js';

const KB = 1024;
const MOST_BYTES = 2 * KB * KB;
const BODY = `{"text":"${'x'.repeat(300 * KB)}"}`;
/** Its text and its request. */
const JOB_BYTES = 2 * BODY.length;

test('of large webhooks no more are in hand than have room, and all are delivered', async () => {
  const { databaseUrl, seed } = await seededDatabase();
  const target = await receiver(async () => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    return 200;
  });
  const hooks = await Promise.all(Array.from({ length: 8 }, () => seed.hook(target.url)));
  // Each an event of its own: no content is shared.
  for (let n = 0; n < 40; n += 1) await seed.webhooks([hooks[n % 8] ?? 0], { body: BODY });
  const claims: { before: number; asked: number; got: number }[] = [];
  let held = () => 0;
  const worker = await startWorker(databaseUrl, {
    mostBytes: MOST_BYTES,
    around: (queue) => ({
      claim: async (capacity) => {
        const before = held();
        const claim = await queue.claim(capacity);
        claims.push({ before, asked: capacity.jobs, got: claim.jobs.length });
        return claim;
      },
    }),
  });
  // Counted by what a claimed job holds, not by what the worker takes it for.
  held = () =>
    worker.inHand.all().filter(({ claimed: { job } }) => job.kind === 'webhook' && job.body !== '')
      .length * JOB_BYTES;
  let most = 0;
  worker.inHand.onChange(() => {
    most = Math.max(most, held());
  });
  await allDelivered(seed);
  const [first, ...later] = claims.filter(({ got }) => got > 0);
  // Nothing is known yet of what jobs take.
  expect(first?.asked).toBe(2);
  for (const { before, asked } of later) {
    expect(before).toBeLessThan(MOST_BYTES);
    expect(before + asked * JOB_BYTES).toBeLessThan(MOST_BYTES + JOB_BYTES);
  }
  expect(most).toBeLessThan(MOST_BYTES + JOB_BYTES);
  expect(target.requests()).toHaveLength(40);
  expect(target.requests().every(({ body }) => body.length === BODY.length)).toBe(true);
});

test('a webhook that takes more than all the room goes by itself, byte for byte', async () => {
  const { databaseUrl, seed } = await seededDatabase();
  let [now, most] = [0, 0];
  const target = await receiver(async () => {
    now += 1;
    most = Math.max(most, now);
    // One beside it would have come by now.
    await delay(50);
    now -= 1;
    return 200;
  });
  const hooks = [await seed.hook(target.url), await seed.hook(target.url)];
  const body = `{"text":"${'🎉x'.repeat(200 * KB)}"}`;
  await seed.webhooks(hooks, { body });
  await startWorker(databaseUrl, { mostBytes: 64 * KB });
  await allDelivered(seed);
  expect(most).toBe(1);
  expect(target.requests().map((request) => request.body.toString())).toEqual([body, body]);
});

test('after the first job of the usual size as many are asked for as hands are free', async () => {
  const { databaseUrl, seed } = await seededDatabase();
  const target = await receiver();
  const hook = await seed.hook(target.url);
  const asked: number[] = [];
  await seed.webhooks([hook]);
  await startWorker(databaseUrl, {
    mostBytes: 4 * KB * KB,
    around: (queue) => ({
      claim: async (capacity) => {
        const claim = await queue.claim(capacity);
        if (claim.jobs.length > 0) asked.push(capacity.jobs);
        return claim;
      },
    }),
  });
  await allDelivered(seed);
  await seed.webhooks([hook]);
  await allDelivered(seed);
  expect(asked).toEqual([4, 50]);
});

test('hooks that hang take no more than a third of the bytes, and one job, from the others', async () => {
  const { databaseUrl, seed } = await seededDatabase();
  const [hung, quick] = [await receiver(() => 'hang'), await receiver()];
  for (let n = 0; n < 10; n += 1) {
    await seed.webhooks([await seed.hook(hung.url)], { body: BODY, fresh: true });
  }
  const worker = await startWorker(databaseUrl, { mostBytes: MOST_BYTES, deadlineMs: 60_000 });
  await hung.waitForRequests(2);
  const fine = await seed.hook(quick.url);
  for (let n = 0; n < 5; n += 1) await seed.webhooks([fine], { body: BODY });
  await quick.waitForRequests(5);
  expect(hung.requests()).toHaveLength(2);
  expect(worker.inHand.bytes('webhook')).toBeLessThan(MOST_BYTES);
});

test('outcomes that wait to be written keep no contents', async () => {
  const { databaseUrl, seed } = await seededDatabase();
  const target = await receiver();
  const jobs = 24;
  for (let n = 0; n < jobs; n += 1) {
    const hook = await seed.hook(target.url);
    await seed.webhooks([hook], { body: `{"text":"${'x'.repeat(KB * KB)}${n}"}` });
  }
  let writable = (): void => undefined;
  const held = new Promise<void>((resolve) => {
    writable = resolve;
  });
  const before = await heapBytes();
  const worker = await startWorker(databaseUrl, {
    around: (queue) => ({ settle: (all) => held.then(() => queue.settle(all)) }),
  });
  const waiting = () => worker.inHand.size === jobs && worker.inHand.sending('webhook') === 0;
  await waitUntil(waiting, { what: 'all to be sent' });
  expect(worker.inHand.bytes('webhook')).toBe(0);
  expect((await heapBytes()) - before).toBeLessThan(8 * KB * KB);
  writable();
  await allDelivered(seed);
});

/** Of texts and objects: what the receiver got are buffers, outside of it. */
async function heapBytes(): Promise<number> {
  await collectedMemory();
  return process.memoryUsage().heapUsed;
}
