import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { commentPayload, Place } from '../../../../test/support/comment-payload.js';
import { FanoutWorld } from '../../../../test/support/fanout-world.js';
import { commentEventOf, readersOf, skipsOf } from '../../../../test/support/notifier-pages.js';
import type { FanoutEvent, FanoutPage } from '../outbox/fanout-consumer.js';

let world: FanoutWorld;

beforeAll(async () => {
  world = await FanoutWorld.create();
});
afterAll(() => world.stop());

const page = (event: FanoutEvent): Promise<FanoutPage> =>
  world.db.transaction((tx) => world.notifier.page(tx, event, null));

describe('mails by mention alone', () => {
  async function mentioning(place: Place, people: readonly number[], actorId = place.ownerId) {
    const event = await commentEventOf(world, place, actorId);
    const payload = event.payload as ReturnType<typeof commentPayload>;
    const mentions = people.map((id) => ({ id, login: `person-${id}`, name: 'Person' }));
    return { ...event, payload: { ...payload, comment: { ...payload.comment, mentions } } };
  }

  async function mentioned(place: Place, count: number): Promise<number[]> {
    const people: number[] = [];
    for (let n = 0; n < count; n += 1) {
      const id = await world.account();
      await world.takesPart(place, id, 'mention');
      people.push(id);
    }
    return people;
  }

  test('are bounded for an author and hour; who follows anyway is not counted', async () => {
    const place = await world.place();
    const followers = [await world.account(), await world.account()];
    const [watcher = 0, participant = 0] = followers;
    await world.watch(place, watcher);
    await world.takesPart(place, participant);
    const first = await mentioned(place, 2);
    const made = await page(await mentioning(place, [...followers, ...first]));
    expect(Object.keys(readersOf(made))).toHaveLength(4);
    const second = await mentioned(place, 2);
    // Those of before are only mentioned, too: of four the third mail of the hour is the last.
    const over = await page(await mentioning(place, [...first, ...second]));
    expect(Object.values(readersOf(over)).filter((reason) => reason === 'mentioned')).toHaveLength(
      1,
    );
    expect(Object.values(skipsOf(over))).toEqual(Array(3).fill('mention_limit'));
    expect(readersOf(over)).toMatchObject({ [watcher]: 'watching', [participant]: 'participant' });
  });

  test('of another author, or hour, have a count of their own', async () => {
    const place = await world.place();
    const [person = 0] = await mentioned(place, 1);
    const other = await world.account();
    const readers = async (actorId?: number) =>
      Object.keys(readersOf(await page(await mentioning(place, [person], actorId)))).length;
    expect([await readers(), await readers(), await readers(), await readers()]).toEqual([
      1, 1, 1, 0,
    ]);
    expect(await readers(other)).toBe(1);
    await world.pool.query(
      `UPDATE mention_mails SET hour = hour - interval '1 hour' WHERE account_id = $1`,
      [place.ownerId],
    );
    expect(await readers()).toBe(1);
  });

  test('that a page made which was broken off are not counted', async () => {
    const place = await world.place();
    const people = await mentioned(place, 3);
    const event = await mentioning(place, people);
    await expect(
      world.db.transaction(async (tx) => {
        await world.notifier.page(tx, event, null);
        throw new Error('broken off');
      }),
    ).rejects.toThrow('broken off');
    expect(Object.keys(readersOf(await page(event)))).toHaveLength(3);
  });
});
