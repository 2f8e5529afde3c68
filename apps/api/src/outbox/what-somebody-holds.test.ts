import { hookLane } from '@ghost/queue';
import { afterEach, beforeEach, expect, test } from 'vitest';

import { FanoutWorld } from '../../../../test/support/fanout-world.js';
import { holdRow } from '../../../../test/support/hold-row.js';
import { isBlocked, untilBlocked } from '../../../../test/support/until-blocked.js';
import { waitUntil } from '../../../../test/support/wait-until.js';

/** More pages than a process has under way at once, by so many that to try each would take longer than the test waits. */
const MANY = 100;

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
  // Nothing else happens any more.
  await release();
  await world.untilProcessed(event);
  expect(outbox.lines.filter(({ event: name }) => name === 'outbox.drain_failed')).toEqual([]);
});

test('of two processes that close an event the one that saw it end does, whatever the other is about', async () => {
  const place = await followedPlace('free.example');
  const event = await world.publishComment(place);
  const done = (consumer: string) =>
    world.pool.query(
      'UPDATE outbox_progress SET done_at = now() WHERE event_id = $1 AND consumer = $2',
      [event, consumer],
    );
  const close = `SELECT event_id FROM outbox_claim(0, false, 10000, 5, '{}', '{}', ARRAY[$1::uuid], 'died', true)`;
  await done('notifier');
  const earlier = await world.pool.connect();
  await earlier.query('BEGIN');
  expect((await earlier.query(close, [event])).rows).toEqual([]);
  await done('webhook-fanout');
  expect((await world.pool.query(close, [event])).rows).toEqual([]);
  await earlier.query('COMMIT');
  earlier.release();
  await world.untilProcessed(event);
});

test('a page is given back beside somebody who took hold of its progress meanwhile, and uncharged once they let go', async () => {
  const held = await followedPlace('held.example');
  const free = await followedPlace('free.example');
  await hold('repository', 'id', String(held.repositoryId));
  const waiting = await world.publishComment(held);
  const { lines } = await world.startOutbox();
  await untilBlocked(world.pool, 'the pages to wait', 2);
  // In line for the rows behind the pages, which have them while they wait for the repository.
  const person = await world.pool.connect();
  await person.query('BEGIN');
  const rows = 'SELECT FROM outbox_progress WHERE event_id = $1 FOR NO KEY UPDATE';
  expect((await person.query(rows, [waiting])).rows).toHaveLength(2);
  await world.untilProcessed(await world.publishComment(free));
  await waitUntil(async () => !(await isBlocked(world.pool)), { what: 'nothing to wait' });
  await person.query('ROLLBACK');
  person.release();
  for (const release of releases.splice(0)) await release();
  await world.untilProcessed(waiting);
  expect(lines.filter(({ event }) => event === 'outbox.drain_failed')).toEqual([]);
});
