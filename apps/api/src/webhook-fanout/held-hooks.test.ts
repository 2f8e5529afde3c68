import { hookLane, type Sql, sqlOf, sqlOfPool } from '@ghost/queue';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';

import { commentPayload, FanoutWorld, type Place } from '../../../../test/support/fanout-world.js';
import { untilBlocked } from '../../../../test/support/until-blocked.js';
import type { FanoutEvent } from '../outbox/fanout-consumer.js';
import { HeldRoom } from './held-room.js';
import { WebhookFanoutService } from './webhook-fanout.service.js';

const MOST = 3;

let world: FanoutWorld;
let place: Place;
let hookId: number;

beforeAll(async () => {
  world = await FanoutWorld.create();
});
afterAll(() => world.stop());
beforeEach(async () => {
  place = await world.place();
  hookId = await world.hook(place);
});

/** Fans an event out as the API does, in one transaction. */
async function fanOut(): Promise<string[]> {
  const id = await world.publishComment(place);
  const { repositoryId } = place;
  const payload = commentPayload(place, place.ownerId, 'Hello.');
  const event: FanoutEvent = {
    id,
    type: 'comment.created',
    version: 1,
    repositoryId,
    payload,
    createdAt: new Date(),
  };
  const webhooks = new WebhookFanoutService(world.queue, world.chains, { heldMost: MOST });
  return world.db.transaction(async (tx) => {
    const { jobs, skips } = await webhooks.page(tx, event, null);
    await world.queue.enqueue(sqlOf(tx), jobs);
    return [...jobs.map(({ lane }) => lane), ...skips.map(({ reason }) => reason)];
  });
}

const hold = () => world.queue.hold(sqlOfPool(world.pool), hookLane(hookId), 'disabled');
const resume = () => world.queue.resume(sqlOfPool(world.pool), hookLane(hookId));

test('a held hook keeps so many events, and then none; one that is not held has no such bound', async () => {
  const beside = await world.hook(place);
  await hold();
  const both = [hookLane(hookId), hookLane(beside)];
  for (let events = 0; events < MOST; events += 1) expect(await fanOut()).toEqual(both);
  for (let events = 0; events < MOST; events += 1) {
    expect(await fanOut()).toEqual([hookLane(beside), 'held_full']);
  }
  await resume();
  expect(await fanOut()).toEqual(both);
  // What waits already counts, whenever it came.
  await hold();
  expect(await fanOut()).toEqual([hookLane(beside), 'held_full']);
});

test('what ended makes room', async () => {
  await hold();
  for (let events = 0; events < MOST; events += 1) await fanOut();
  expect(await fanOut()).toEqual(['held_full']);
  const { rows } = await world.pool.query<{ id: string }>(
    'SELECT id FROM delivery_job WHERE hook_id = $1 LIMIT 1',
    [hookId],
  );
  const jobIds = rows.map(({ id }) => id);
  await world.queue.cancel(sqlOfPool(world.pool), { jobIds }, 'discarded');
  expect(await fanOut()).toEqual([hookLane(hookId)]);
});

test('that it is full is no reason where it would not get the event anyway', async () => {
  await hold();
  for (let events = 0; events < MOST; events += 1) await fanOut();
  await world.pool.query(`UPDATE hook SET events = '{thread.opened}' WHERE id = $1`, [hookId]);
  expect(await fanOut()).toEqual(['not_subscribed']);
  await world.pool.query('UPDATE hook SET active = false WHERE id = $1', [hookId]);
  expect(await fanOut()).toEqual(['inactive']);
});

test('a page beside a resumption loses nothing: what it adds is due', async () => {
  await fanOut();
  await hold();
  const id = await world.publishComment(place);
  let resumed: Promise<boolean> | undefined;
  await world.db.transaction(async (tx) => {
    const payload = commentPayload(place, place.ownerId, 'Hello.');
    const { repositoryId } = place;
    const event = { id, type: 'comment.created', version: 1, repositoryId, payload } as const;
    const { jobs } = await world.webhooks.page(tx, { ...event, createdAt: new Date() }, null);
    await world.queue.enqueue(sqlOf(tx), jobs);
    resumed = resume();
    await untilBlocked(world.pool, 'the resumption to wait');
  });
  expect(await resumed).toBe(true);
  const { rows } = await world.pool.query(
    `SELECT count(*)::int AS jobs FROM delivery_job j JOIN delivery_lane l USING (lane, version)
     WHERE l.lane = $1 AND j.status = 'pending' AND l.next_at <= now() AND l.held_reason IS NULL`,
    [hookLane(hookId)],
  );
  expect(rows).toEqual([{ jobs: 2 }]);
});

test('it is counted once in five seconds; what is added meanwhile counts along', async () => {
  for (let events = 0; events < MOST - 1; events += 1) await fanOut();
  let counts = 0;
  const counted: Sql = {
    query: (...of) => {
      counts += 1;
      return sqlOfPool(world.pool).query(...of);
    },
  };
  let now = 0;
  const room = new HeldRoom(MOST, () => now);
  const heldAt = new Date();
  const full = async (at = heldAt) => [...(await room.take(counted, [{ hookId, heldAt: at }]))];
  expect(await full()).toEqual([]);
  expect(await full()).toEqual([hookId]);
  now = 4_999;
  expect(await full()).toEqual([hookId]);
  expect(counts).toBe(1);
  // The first of them made no job: there is room still.
  now = 5_000;
  expect(await full()).toEqual([]);
  expect(await full()).toEqual([hookId]);
  expect(await full(new Date(heldAt.getTime() + 1))).toEqual([]);
  expect(counts).toBe(3);
});

test('events that are fanned out at once share a count: none takes the room of another', async () => {
  for (let events = 0; events < MOST - 1; events += 1) await fanOut();
  const room = new HeldRoom(MOST);
  const held = [{ hookId, heldAt: new Date() }];
  const sql = sqlOfPool(world.pool);
  const taken = await Promise.all(Array.from({ length: 5 }, () => room.take(sql, held)));
  expect(taken.filter((full) => !full.has(hookId))).toHaveLength(1);
});
