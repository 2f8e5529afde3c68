import { hookLane } from '@ghost/queue';
import { afterEach, beforeEach, expect, test } from 'vitest';

import { FanoutWorld } from '../../../../test/support/fanout-world.js';
import { holdRow } from '../../../../test/support/hold-row.js';
import { waitUntil } from '../../../../test/support/wait-until.js';

/** More pages than a process has under way at once. */
const MANY = 6;

let world: FanoutWorld;
const releases: (() => Promise<void>)[] = [];
beforeEach(async () => {
  world = await FanoutWorld.create();
});
afterEach(async () => {
  for (const release of releases.splice(0)) await release();
  await world.stop();
});

/** A place with a hook and one reader: each comment makes one job of each kind. */
async function followedPlace(domain: string) {
  const place = await world.place();
  await world.watch(place, await world.account({ email: `reader@${domain}` }));
  return { ...place, hook: await world.hook(place) };
}

async function hold(
  ...of: Parameters<typeof holdRow> extends [unknown, ...infer Rest] ? Rest : never
) {
  const release = await holdRow(world.pool, ...of);
  releases.push(release);
  return release;
}

const publish = (place: Awaited<ReturnType<typeof followedPlace>>, count: number) =>
  Promise.all(Array.from({ length: count }, () => world.publishComment(place)));

test.each(['repository', 'delivery_lane'] as const)(
  'events that wait for a %s that somebody holds keep no other waiting, and are charged nothing',
  async (table) => {
    const held = await followedPlace('held.example');
    const free = await followedPlace('free.example');
    // Its lane is there to be held.
    await world.startOutbox().then(async (first) => {
      await world.untilProcessed(...(await publish(held, 1)));
      await first.stop();
    });
    const release =
      table === 'repository'
        ? await hold(table, 'id', String(held.repositoryId))
        : await hold(table, 'lane', hookLane(held.hook));
    const waiting = await publish(held, MANY);
    const { lines } = await world.startOutbox();
    await waitUntil(() => lines.some(({ event }) => event === 'outbox.held_up'), {
      what: 'a page to give up its place',
    });
    await world.untilProcessed(...(await publish(free, 2)));
    const progress = await Promise.all(waiting.map((event) => world.progressOf(event)));
    for (const { 'webhook-fanout': webhooks } of progress) {
      expect(webhooks).toMatchObject({ done: false, setAside: false, lastError: null });
      expect(webhooks?.attempts).toBeLessThanOrEqual(1);
    }
    await release();
    await world.untilProcessed(...waiting);
    expect(lines.filter(({ event }) => event === 'outbox.failed')).toEqual([]);
  },
);

test('an ended event that somebody holds keeps no other waiting, and is closed later', async () => {
  const place = await followedPlace('free.example');
  const event = await world.publishComment(place);
  const release = await hold('outbox_event', 'id', event);
  const outbox = await world.startOutbox();
  await waitUntil(
    async () => Object.values(await world.progressOf(event)).every(({ done }) => done),
    { what: 'its consumers to end' },
  );
  await world.untilProcessed(await world.publishComment(place));
  await release();
  const last = await world.publishComment(place);
  await world.untilProcessed(last, event);
  expect(outbox.lines.filter(({ event: name }) => name === 'outbox.drain_failed')).toEqual([]);
});
